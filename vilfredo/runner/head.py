"""The largest logits of rows as weights: what a draw needs of them, made for all rows at once."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from vilfredo.ops.table import F32, I32

F64 = NDArray[np.float64]
HEAD = 64
FURTHEST = -700.0  # exp of less is nothing
# logsumexp is float32's and about 20 at the most, so that a sum is off by less than this share.
DOUBT = 1e-5


@dataclass(frozen=True, slots=True)
class Head:
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
    heat = np.array(temperatures, np.float64)
    weights = np.exp(below / heat[:, None])
    cumulated = np.cumsum(weights, axis=1)
    least, most = _rests(below, weights, cumulated, logsumexp - values[:, 0], heat, vocabulary)
    columns = (ids, weights, cumulated.tolist(), least.tolist(), most.tolist())
    return list(map(Head, *columns))


def _rests(
    below: F64, weights: F64, cumulated: F64, total: F32, heat: F64, vocabulary: int
) -> tuple[F64, F64]:
    """Without a look at the rest itself. At a temperature of 1 logsumexp tells the sum of it. Below
    that each weight is the one at 1 times exp(below * (1 / temperature - 1)), which is most for the
    head's last; and at any temperature none weighs more than the head's last does."""
    crowd = (vocabulary - below.shape[1]) * weights[:, -1]
    total = np.exp(total.astype(np.float64))
    exact = heat == 1
    known = np.where(exact, total - cumulated[:, -1], 0)
    rest = np.maximum(total * (1 + DOUBT) - np.exp(below).sum(axis=1), 0)
    sharper = np.maximum(1 / heat - 1, 0)
    shrunk = rest * np.exp(np.maximum(below[:, -1], FURTHEST) * sharper)
    most = np.where(heat > 1, crowd, np.minimum(crowd, shrunk))
    return known, np.where(exact, known, most)
