"""Cosines and sines of rotary positions (Su et al. 2021): one table for every distinct Rope."""

from collections.abc import Iterable

import numpy as np

from vilfredo.models.spec import Rope
from vilfredo.ops.table import F32, I32

STRIDE = 1024  # positions that a table grows by, as sequences get there


class Rotations:
    def __init__(self, ropes: Iterable[Rope]) -> None:
        self._tables = {rope: _turns(rope, 0, STRIDE) for rope in dict.fromkeys(ropes)}

    @property
    def ropes(self) -> Iterable[Rope]:
        """Those that differ, each once."""
        return self._tables.keys()

    def at(self, positions: I32) -> dict[Rope, tuple[F32, F32]]:
        """cos and sin, each [n, dim / 2]: views with gaps between their rows."""
        try:
            turns = [table.take(positions, 0) for table in self._tables.values()]
        except IndexError:
            self._grow((int(positions.max()) // STRIDE + 1) * STRIDE)
            turns = [table.take(positions, 0) for table in self._tables.values()]
        return {
            rope: (turn[:, 0], turn[:, 1]) for rope, turn in zip(self._tables, turns, strict=True)
        }

    def _grow(self, length: int) -> None:
        for rope, table in self._tables.items():
            self._tables[rope] = np.concatenate([table, _turns(rope, len(table), length)])


def _turns(rope: Rope, start: int, end: int) -> F32:
    """[end - start, cos and sin, dim / 2]. Angles are float64: they grow with the position, and a
    float32 angle at 100,000 is off by 4e-3."""
    frequencies = rope.theta ** (-np.arange(0, rope.dim, 2, dtype=np.float64) / rope.dim)
    if rope.factors:
        frequencies /= np.array(rope.factors)
    angles = np.arange(start, end)[:, None] * frequencies
    return np.stack([np.cos(angles), np.sin(angles)], axis=1).astype(np.float32)
