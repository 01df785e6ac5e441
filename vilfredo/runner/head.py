"""The largest logits of rows as weights: what a draw needs of them, made for all rows at once."""

import math
from collections.abc import Sequence

import msgspec
import numpy as np
from numpy.typing import NDArray

from vilfredo.ops.table import F32, I32

F64 = NDArray[np.float64]
HEAD = 64
FURTHEST = -700.0  # exp of less is nothing
# logsumexp is float32's and about 20 at the most, so that a sum is off by less than this share.
DOUBT = 1e-5


class Head(msgspec.Struct, frozen=True, gc=False):
    """Weights are exp(logit / temperature), divided by the largest. The sum of those that are not
    in the head lies between `least_rest` and `most_rest`."""

    ids: I32  # in falling order of weight
    weights: F64
    cumulated: list[float]
    least_rest: float
    most_rest: float


def heads(
    ids: I32,  # [rows, width]
    values: F32,  # [rows, width]: the largest logits, falling; the first is finite
    logsumexp: F32,  # [rows], of all logits
    temperatures: Sequence[float],
    vocabulary: int,
) -> list[Head]:
    """A row's head does not depend on other rows."""
    below = values.astype(np.float64) - values[:, :1]
    weights = np.exp(below / np.array(temperatures, np.float64)[:, None])
    cumulated = weights.cumsum(axis=1).tolist()
    totals = (logsumexp - values[:, 0]).tolist()
    found: list[Head] = []
    for row, temperature in enumerate(temperatures):
        sums: list[float] = cumulated[row]
        total = math.exp(totals[row])
        least, most = 0.0, (vocabulary - len(sums)) * float(weights[row, -1])
        if temperature == 1:
            least = most = total - sums[-1]
        elif temperature < 1:
            most = min(most, _most_rest(below[row], total, temperature))
        found.append(Head(ids[row], weights[row], sums, least, most))
    return found


def _most_rest(below: F64, total: float, temperature: float) -> float:
    """Without a look at the rest itself. logsumexp tells what it weighs at a temperature of 1; at a
    lower one each weight is exp(below * (1 / temperature - 1)) times that, which is most for the
    head's last."""
    rest = max(0.0, total * (1 + DOUBT) - float(np.exp(below).sum()))
    return rest * math.exp(max(float(below[-1]), FURTHEST) * (1 / temperature - 1))
