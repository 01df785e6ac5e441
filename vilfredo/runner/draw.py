"""One token out of a distribution, for a number in [0, 1).

Tokens are cumulated in a fixed order: the HEAD largest logits in falling order, then the others by
id. The head usually decides alone, so the rest of the vocabulary is seldom looked at.
"""

import hashlib
import math
import struct

import numpy as np
from numpy.typing import NDArray

from vilfredo.core.request import Sampling
from vilfredo.ops.table import F32, I32
from vilfredo.runner.cut import cut_weights

F64 = NDArray[np.float64]
HEAD = 64

# Logits are float32 of a magnitude around 16, so neighbors differ by about 1e-6: at a temperature
# below this there is nothing to draw, and dividing by it would only overflow.
GREEDY_BELOW = 1e-5


def is_greedy(sampling: Sampling) -> bool:
    return sampling.temperature < GREEDY_BELOW or sampling.top_k == 1


def uniform(seed: int, index: int) -> float:
    """A number in [0, 1) for the token at `index` of the output.

    A hash, not a stream: a sequence needs no generator state, so it draws the same after
    preemption, after a restart and in any batch; and neighboring seeds share nothing.
    """
    key = struct.pack("<QQ", seed & 0xFFFF_FFFF_FFFF_FFFF, index)
    digest = hashlib.blake2b(key, digest_size=8).digest()
    return (int.from_bytes(digest, "little") >> 11) * 2.0**-53


def draw(
    logits: F32, ids: I32, values: F32, logsumexp: float, sampling: Sampling, number: float
) -> int:
    """The token at `number` of the distribution after temperature, top_k, top_p and min_p.

    logits [vocabulary], finite or -inf, the largest finite; ids and values [HEAD, or all if there
    are fewer] are its head; logsumexp is that of all. Sums over the vocabulary are float32's, so
    borders are exact to about 1e-6.
    """
    weights = np.exp((values.astype(np.float64) - values[0]) / sampling.temperature)
    cumulated = np.cumsum(weights)
    mass = _mass(logits, cumulated, weights, logsumexp, sampling)
    if mass is not None and number * mass < cumulated[-1]:
        return int(ids[_place(cumulated, number * mass)])
    tail = cut_weights(logits, sampling)
    cumulated = np.cumsum(tail[ids])
    tail[ids] = 0
    np.cumsum(tail, out=tail)
    target = number * (cumulated[-1] + tail[-1])
    if target < cumulated[-1] or tail[-1] <= 0:
        return int(ids[_place(cumulated, target)])
    return _place(tail, target - cumulated[-1])


def _mass(
    logits: F32,
    cumulated: F64,  # [head]: sums of weights
    weights: F64,  # [head]: falling; the first is 1
    logsumexp: float,
    sampling: Sampling,
) -> float | None:
    """The sum of the weights that survive truncation; None where the head does not tell.

    top_p and min_p cut a falling list from behind, so survivors are always its beginning.
    """
    width, vocabulary = len(weights), len(logits)
    kept = most = min(sampling.top_k or vocabulary, vocabulary)
    total: float | None = None
    if most <= width:
        total = float(cumulated[most - 1])
    elif most == vocabulary and (sampling.top_p < 1 or sampling.min_p <= 0):
        total = _total(logits, sampling.temperature, logsumexp)
    if sampling.top_p < 1:
        if total is None:
            return None
        kept = min(kept, 1 + int(cumulated.searchsorted(sampling.top_p * total, "left")))
    if sampling.min_p > 0:
        survivors = width - int(weights[::-1].searchsorted(sampling.min_p, "left"))
        if survivors < width:
            kept = min(kept, max(1, survivors))
    if kept <= width:
        return float(cumulated[kept - 1])
    return total if sampling.top_p >= 1 and sampling.min_p <= 0 else None


def _total(logits: F32, temperature: float, logsumexp: float) -> float:
    """The sum of all weights, to float32's precision."""
    peak = logits.max()
    if temperature == 1:
        return math.exp(logsumexp - float(peak))
    return float(np.exp((logits - peak) / np.float32(temperature)).sum())


def _place(cumulated: F64, target: float) -> int:
    """The first place whose sum exceeds the target; never one of weight 0."""
    last = int(cumulated.searchsorted(cumulated[-1], "left"))
    return min(int(cumulated.searchsorted(target, "right")), last)
