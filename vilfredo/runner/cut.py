"""Truncation over the whole vocabulary, in linear time: for when the largest few do not decide."""

import numpy as np
from numpy.typing import NDArray

from vilfredo.core.request import Sampling
from vilfredo.ops.table import F32

F64 = NDArray[np.float64]
BINS = 4096
NEGLIGIBLE = 50.0  # a logit this far below the largest, over the temperature, weighs exp(-50)


def cut_weights(logits: F32, sampling: Sampling) -> F32 | F64:
    """Probabilities [vocabulary] up to a factor, 1 for the largest logit, 0 for what top_k, top_p
    and min_p cut in this order; among equal logits, the lower id stays longer."""
    below = logits.max() - logits
    below /= np.float32(sampling.temperature)
    if sampling.top_k == 0 and sampling.top_p >= 1 and sampling.min_p <= 0:
        np.negative(below, out=below)
        return np.exp(below, out=below)
    weights = np.exp(-below).astype(np.float64)
    if 0 < sampling.top_k < len(logits):
        _keep_largest(logits, weights, sampling.top_k)
    if sampling.top_p < 1:
        _keep_nucleus(below, weights, sampling.top_p)
    if sampling.min_p > 0:
        weights[weights < sampling.min_p] = 0
    return weights


def _keep_largest(logits: F32, weights: F64, count: int) -> None:
    last = np.partition(logits, len(logits) - count)[len(logits) - count]
    larger = int(np.count_nonzero(logits > last))
    weights[logits < last] = 0
    weights[np.flatnonzero(logits == last)[count - larger :]] = 0


def _keep_nucleus(below: F32, weights: F64, top_p: float) -> None:
    """The fewest tokens, from the largest on, that hold `top_p` of the mass.

    Only the bin in which the mass is reached needs sorting: bins of falling logits are in order.
    """
    furthest = min(float(below[np.isfinite(below)].max()), NEGLIGIBLE)
    width = np.float32(furthest / (BINS - 1))
    if width > 0:
        bins = np.minimum(below / width, np.float32(BINS - 1)).astype(np.intp)
    else:
        bins = np.zeros(len(below), np.intp)
    masses = np.bincount(bins, weights).cumsum()
    wanted = top_p * masses[-1]
    last = int(masses.searchsorted(wanted, "left"))
    members = np.flatnonzero(bins == last)
    members = members[np.argsort(below[members], kind="stable")]
    inside = weights[members].cumsum() + (masses[last - 1] if last else 0)
    weights[members[1 + int(inside.searchsorted(wanted, "left")) :]] = 0
    weights[bins > last] = 0
