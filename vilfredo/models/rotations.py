"""Cosines and sines of rotary positions (Su et al. 2021), once a step for every distinct Rope."""

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from vilfredo.models.spec import Rope
from vilfredo.ops.table import F32, I32


class Rotations:
    def __init__(self, ropes: Iterable[Rope]) -> None:
        self._frequencies = {rope: _frequencies(rope) for rope in ropes}

    @property
    def ropes(self) -> Iterable[Rope]:
        """Those that differ, each once."""
        return self._frequencies.keys()

    def at(self, positions: I32) -> dict[Rope, tuple[F32, F32]]:
        """cos and sin, each [n, dim / 2]. Angles are float64: they grow with the position, and a
        float32 angle at 100,000 is off by 4e-3."""
        turns: dict[Rope, tuple[F32, F32]] = {}
        for rope, frequencies in self._frequencies.items():
            angles = positions[:, None] * frequencies
            turns[rope] = (np.cos(angles).astype(np.float32), np.sin(angles).astype(np.float32))
        return turns


def _frequencies(rope: Rope) -> NDArray[np.float64]:  # [dim / 2]
    frequencies = rope.theta ** (-np.arange(0, rope.dim, 2, dtype=np.float64) / rope.dim)
    return frequencies / np.array(rope.factors) if rope.factors else frequencies
