"""Truncation over the whole vocabulary, in linear time: for when the largest few do not decide."""

import numpy as np

from vilfredo.core.request import Sampling
from vilfredo.ops.table import F32

BINS = 4096
NEGLIGIBLE = 50.0  # a logit this far below the largest, over the temperature, weighs exp(-50)


def cut_weights(logits: F32, sampling: Sampling) -> F32:
    """Probabilities [vocabulary] up to a factor, 1 for the largest logit, 0 for what top_k, top_p
    and min_p cut in this order; among equal logits, the lower id stays longer."""
    below = logits.max() - logits
    below /= np.float32(sampling.temperature)
    weights = np.negative(below)
    np.exp(weights, out=weights)
    if 0 < sampling.top_k < len(logits):
        _keep_largest(logits, weights, sampling.top_k)
    if sampling.top_p < 1:
        _keep_nucleus(below, weights, sampling.top_p)
    if sampling.min_p > 0:
        weights[weights < sampling.min_p] = 0
    return weights


def _keep_largest(logits: F32, weights: F32, count: int) -> None:
    last = np.partition(logits, len(logits) - count)[len(logits) - count]
    larger = int(np.count_nonzero(logits > last))
    weights[logits < last] = 0
    weights[np.flatnonzero(logits == last)[count - larger :]] = 0


def _keep_nucleus(below: F32, weights: F32, top_p: float) -> None:
    """The fewest tokens, from the largest on, that hold `top_p` of the mass.

    Most are so light that all of them together hold less than half of what is cut: these are not
    looked at. Of the others, only the bin in which the mass is reached needs sorting: bins of
    falling logits are in order.
    """
    total = float(weights.sum(dtype=np.float64))
    heavy = np.flatnonzero(weights >= np.float32((1 - top_p) * total / (2 * len(weights))))
    near = below[heavy]
    width = np.float32(min(float(near.max()), NEGLIGIBLE) / (BINS - 1))
    if width > 0:
        bins = np.minimum(near / width, np.float32(BINS - 1)).astype(np.intp)
    else:
        bins = np.zeros(len(near), np.intp)
    masses = np.bincount(bins, weights[heavy]).cumsum()
    wanted = top_p * total
    last = min(int(masses.searchsorted(wanted, "left")), len(masses) - 1)
    members = np.flatnonzero(bins == last)
    members = members[np.argsort(near[members], kind="stable")]
    inside = weights[heavy[members]].cumsum(dtype=np.float64) + (masses[last - 1] if last else 0)
    members = members[: 1 + int(inside.searchsorted(wanted, "left"))]
    kept = np.concatenate([heavy[bins < last], heavy[members]])
    values = weights[kept]
    weights.fill(0)
    weights[kept] = values
