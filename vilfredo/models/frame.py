"""The inputs of one shape of step in memory that stays where it is, so that calls recorded over it
can be replayed for every step of that shape."""

from collections.abc import Iterable

import numpy as np

from vilfredo.models.inputs import DecoderInputs
from vilfredo.models.rotations import Rotations
from vilfredo.models.spec import Rope
from vilfredo.ops.table import F32, SpanBatch

# rows, spans, width of the block tables: see `shape_of`
Shape = tuple[int, int, int]


def shape_of(inputs: DecoderInputs) -> Shape:
    """Spans and width are rounded up to powers of two, that few shapes serve a long generation.
    Spans are never more than rows, so a step that only decodes has exactly as many."""
    rows = len(inputs.tokens)
    spans, width = inputs.batch.blocks.shape
    return rows, min(rows, _power_of_two(spans)), _power_of_two(width)


class Frame:
    def __init__(self, shape: Shape, ropes: Iterable[Rope]) -> None:
        rows, spans, width = shape
        self.tokens = np.zeros(rows, np.int32)
        self.slots = np.zeros(rows, np.int32)
        self.batch = SpanBatch(
            borders=np.zeros(spans + 1, np.int32),
            starts=np.zeros(spans, np.int32),
            blocks=np.full((spans, width), -1, np.int32),
        )
        self.turns: dict[Rope, tuple[F32, F32]] = {
            rope: (
                np.zeros((rows, rope.dim // 2), np.float32),
                np.zeros((rows, rope.dim // 2), np.float32),
            )
            for rope in ropes
        }

    def fill(self, inputs: DecoderInputs, rotations: Rotations) -> None:
        """Spans that the step does not have become spans of no rows."""
        self.tokens[:] = inputs.tokens
        self.slots[:] = inputs.slots
        batch, given = self.batch, inputs.batch
        spans, width = given.blocks.shape
        batch.borders[: spans + 1] = given.borders
        batch.starts[:spans] = given.starts
        if spans < len(batch.starts):
            batch.borders[spans + 1 :] = len(inputs.tokens)
            batch.starts[spans:] = 0
        batch.blocks[:spans, :width] = given.blocks
        for rope, turned in rotations.at(inputs.positions).items():
            for mine, theirs in zip(self.turns[rope], turned, strict=True):
                mine[:] = theirs


def _power_of_two(count: int) -> int:
    return 1 << max(0, count - 1).bit_length()
