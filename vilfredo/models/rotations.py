"""Cosines and sines of rotary positions (Su et al. 2021): one table for every distinct Rope."""

from collections.abc import Iterable

import numpy as np

from vilfredo.models.spec import Rope
from vilfredo.ops.table import F32, I32

STRIDE = 1024  # positions that a table grows by, as sequences get there


class Rotations:
    def __init__(self, ropes: Iterable[Rope]) -> None:
        self._tables = {rope: _turns(rope, 0, STRIDE) for rope in ropes}
        self._length = STRIDE

    @property
    def ropes(self) -> Iterable[Rope]:
        """Those that differ, each once."""
        return self._tables.keys()

    def at(self, positions: I32) -> dict[Rope, tuple[F32, F32]]:
        """cos and sin, each [n, dim / 2]; n is at least 1."""
        last = int(positions.max())
        if last >= self._length:
            self._grow((last // STRIDE + 1) * STRIDE)
        return {
            rope: (cos.take(positions, 0, mode="clip"), sin.take(positions, 0, mode="clip"))
            for rope, (cos, sin) in self._tables.items()
        }

    def _grow(self, length: int) -> None:
        for rope, known in self._tables.items():
            more = _turns(rope, self._length, length)
            cos, sin = (np.concatenate(pair) for pair in zip(known, more, strict=True))
            self._tables[rope] = cos, sin
        self._length = length


def _turns(rope: Rope, start: int, end: int) -> tuple[F32, F32]:
    """[end - start, dim / 2] each. Angles are float64: they grow with the position, and a float32
    angle at 100,000 is off by 4e-3."""
    frequencies = rope.theta ** (-np.arange(0, rope.dim, 2, dtype=np.float64) / rope.dim)
    if rope.factors:
        frequencies /= np.array(rope.factors)
    angles = np.arange(start, end)[:, None] * frequencies
    return np.cos(angles).astype(np.float32), np.sin(angles).astype(np.float32)
