"""One token out of a distribution, for a number in [0, 1).

Tokens are cumulated in a fixed order: the HEAD largest logits in falling order, then the others by
id. The head usually decides alone, so the rest of the vocabulary is seldom looked at.
"""

import hashlib
import struct
from bisect import bisect_left, bisect_right

import numpy as np
from numpy.typing import NDArray

from vilfredo.core.request import Sampling
from vilfredo.ops.table import F32
from vilfredo.runner.cut import cut_weights
from vilfredo.runner.head import Head

F64 = NDArray[np.float64]
Range = tuple[float, float]  # the least and the most that a sum may be
BLOCK = 256  # weights that are summed at once where one of all the vocabulary is looked for


def uniform(seed: int, index: int) -> float:
    """A number in [0, 1) for the token at `index` of the output.

    A hash, not a stream: a sequence needs no generator state, so it draws the same after
    preemption, after a restart and in any batch; and neighboring seeds share nothing.
    """
    key = struct.pack("<QQ", seed & 0xFFFF_FFFF_FFFF_FFFF, index)
    digest = hashlib.blake2b(key, digest_size=8).digest()
    return (int.from_bytes(digest, "little") >> 11) * 2.0**-53


def draw(logits: F32, head: Head, sampling: Sampling, number: float) -> int:
    """The token at `number` of the distribution after temperature, top_k, top_p and min_p.

    logits [vocabulary], finite or -inf, the largest finite. Sums over the vocabulary are float32's,
    so borders are exact to about 1e-6.
    """
    vocabulary = len(logits)
    totals = _totals(head, sampling, vocabulary)
    decided, place = _place_in_head(head, sampling, vocabulary, totals, number)
    if not decided and totals is not None and totals[0] != totals[1]:
        total = float(cut_weights(logits, Sampling(sampling.temperature)).sum())
        decided, place = _place_in_head(head, sampling, vocabulary, (total, total), number)
    if decided and place is not None:
        return int(head.ids[place])
    return _draw_from_all(logits, head, sampling, number)


def _draw_from_all(logits: F32, head: Head, sampling: Sampling, number: float) -> int:
    rest = cut_weights(logits, sampling)
    survivors = rest[head.ids].cumsum(dtype=np.float64)
    rest[head.ids] = 0
    sums = np.add.reduceat(rest, np.arange(0, len(rest), BLOCK), dtype=np.float64).cumsum()
    target = number * (survivors[-1] + sums[-1])
    if target < survivors[-1] or sums[-1] <= 0:
        return int(head.ids[_place(survivors, target)])
    target -= survivors[-1]
    block = _place(sums, target)
    inside = rest[block * BLOCK : (block + 1) * BLOCK].cumsum(dtype=np.float64)
    return block * BLOCK + _place(inside, target - (sums[block - 1] if block else 0))


def _totals(head: Head, sampling: Sampling, vocabulary: int) -> Range | None:
    """Of all weights after top_k; None where the head does not tell, or nothing depends on it."""
    width = len(head.ids)
    most = min(sampling.top_k or vocabulary, vocabulary)
    if most <= width:
        return head.cumulated[most - 1], head.cumulated[most - 1]
    if most < vocabulary or (sampling.top_p >= 1 and sampling.min_p > 0):
        return None
    return head.cumulated[-1] + head.least_rest, head.cumulated[-1] + head.most_rest


def _place_in_head(
    head: Head, sampling: Sampling, vocabulary: int, totals: Range | None, number: float
) -> tuple[bool, int | None]:
    """Whether the masses that there may be leave no doubt, and then the place of the token at
    `number`; None where it lies beyond the head."""
    masses = _masses(head, sampling, vocabulary, totals)
    if masses is None:
        return False, None
    cumulated = head.cumulated
    first, last = (
        bisect_right(cumulated, number * mass) if number * mass < cumulated[-1] else None
        for mass in masses
    )
    if first is None or first != last:
        return first == last, None
    return True, min(first, bisect_left(cumulated, cumulated[-1]))  # never one of weight 0


def _masses(head: Head, sampling: Sampling, vocabulary: int, totals: Range | None) -> Range | None:
    """Of what survives truncation. top_p and min_p cut a falling list from behind, so survivors are
    always its beginning."""
    cumulated, width = head.cumulated, len(head.ids)
    kept = min(sampling.top_k or vocabulary, vocabulary)
    if sampling.min_p > 0:
        survivors = width - int(head.weights[::-1].searchsorted(sampling.min_p, "left"))
        if survivors < width:
            kept = min(kept, max(1, survivors))
        elif kept > width:
            return None
    if sampling.top_p >= 1:
        return (cumulated[kept - 1], cumulated[kept - 1]) if kept <= width else totals
    if totals is None:
        return None
    least, _ = _nucleus(head, sampling.top_p, kept, totals[0])
    _, most = _nucleus(head, sampling.top_p, kept, totals[1])
    return least, most


def _nucleus(head: Head, top_p: float, kept: int, total: float) -> Range:
    """Of the fewest tokens, but at most `kept`, that hold `top_p` of the total. Where they reach
    beyond the head, the last of them adds no more than the head's last would."""
    cumulated = head.cumulated
    kept = min(kept, 1 + bisect_left(cumulated, top_p * total))
    if kept <= len(cumulated):
        return cumulated[kept - 1], cumulated[kept - 1]
    return top_p * total, min(total, top_p * total + float(head.weights[-1]))


def _place(cumulated: F64, target: float) -> int:
    """The first place whose sum exceeds the target; never one of weight 0."""
    last = int(cumulated.searchsorted(cumulated[-1], "left"))
    return min(int(cumulated.searchsorted(target, "right")), last)
