"""One token out of a distribution that lies in falling order, for a number in [0, 1).

The largest logits (the head) usually decide alone, so the rest of the vocabulary is looked at only
where they do not. The same number gives the same token, however wide the head happened to be.
"""

import hashlib
import math
import struct
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from vilfredo.core.request import Sampling
from vilfredo.ops.table import F32, I32

F64 = NDArray[np.float64]

HEAD = 64  # candidates that are tried first
WIDER = 1024  # then these; then the whole vocabulary

# Logits are float32 of a magnitude around 16, so neighbors differ by about 1e-6: at a temperature
# below this there is nothing to draw, and dividing by it would only overflow.
GREEDY_BELOW = 1e-5

# Gives the `width` largest logits and their ids, in falling order, the lower id first.
Widen = Callable[[int], tuple[I32, F32]]


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


def draw(logits: F32, logsumexp: float, sampling: Sampling, number: float, widen: Widen) -> int:
    """The token at `number` of the cumulative distribution after temperature, top_k, top_p, min_p.

    logits [vocabulary], finite or -inf, the largest finite; logsumexp is theirs. Tokens are
    cumulated in falling order of their logits; without any truncation, those after the first HEAD
    follow in the order of their ids, which needs no sort.
    """
    if sampling.top_p >= 1 and sampling.min_p <= 0 and not 0 < sampling.top_k < len(logits):
        return _draw_whole(logits, logsumexp, sampling.temperature, number, widen)
    width = min(HEAD, len(logits))
    while True:
        ids, values = widen(width)
        weights = _weights(values, sampling.temperature)
        cumulated = np.cumsum(weights)
        kept = _kept(cumulated, weights, logits, logsumexp, sampling)
        if kept is not None:
            return int(ids[_place(cumulated[:kept], number * cumulated[kept - 1])])
        width = min(WIDER, len(logits)) if width < WIDER else len(logits)


def _draw_whole(
    logits: F32, logsumexp: float, temperature: float, number: float, widen: Widen
) -> int:
    ids, values = widen(min(HEAD, len(logits)))
    cumulated = np.cumsum(_weights(values, temperature))
    whole = len(ids) == len(logits)
    mass = cumulated[-1] if whole else _mass(logits, temperature, logsumexp)
    rest = number * mass - cumulated[-1]
    if rest >= 0 and not whole:
        tail = np.exp((logits - values[0]) / np.float32(temperature)).astype(np.float64)
        tail[ids] = 0
        np.cumsum(tail, out=tail)
        if tail[-1] > 0:
            return _place(tail, rest)
    return int(ids[_place(cumulated, number * mass)])


def _kept(
    cumulated: F64,  # [width]: sums of weights
    weights: F64,  # [width]: falling; the first is 1
    logits: F32,
    logsumexp: float,
    sampling: Sampling,
) -> int | None:
    """How many of the first tokens survive truncation; None where more of them must be seen.

    top_p and min_p cut a falling list from behind, so the survivors are always its beginning.
    """
    width = len(cumulated)
    kept = most = min(sampling.top_k or len(logits), len(logits))
    if sampling.top_p < 1:
        if most <= width:
            mass = cumulated[most - 1]
        elif most == len(logits):
            mass = _mass(logits, sampling.temperature, logsumexp)
        else:
            return None  # a share of the mass of top_k tokens, which is not known yet
        kept = min(kept, 1 + int(cumulated.searchsorted(sampling.top_p * mass, "left")))
    if sampling.min_p > 0:
        survivors = width - int(weights[::-1].searchsorted(sampling.min_p, "left"))
        if survivors < width:
            kept = min(kept, max(1, survivors))
    return kept if kept <= width else None


def _weights(values: F32, temperature: float) -> F64:
    """Probabilities up to a factor: the largest, which comes first, has the weight 1."""
    return np.exp((values.astype(np.float64) - values[0]) / temperature)


def _mass(logits: F32, temperature: float, logsumexp: float) -> float:
    """The sum of all weights, to float32's precision."""
    peak = logits.max()
    if temperature == 1:
        return math.exp(logsumexp - float(peak))
    return float(np.exp((logits - peak) / np.float32(temperature)).sum())


def _place(cumulated: F64, target: float) -> int:
    """The first place whose sum exceeds the target; never one of weight 0."""
    last = int(cumulated.searchsorted(cumulated[-1], "left"))
    return min(int(cumulated.searchsorted(target, "right")), last)
