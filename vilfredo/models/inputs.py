"""What one step gives a decoder: integers that say which tokens lie where. Never holds weights."""

from dataclasses import dataclass

from vilfredo.ops.table import I32, SpanBatch


@dataclass(frozen=True, slots=True)
class DecoderInputs:
    """All rows of a step, span after span, as `batch.borders` divides them."""

    tokens: I32  # [n]
    positions: I32  # [n]: of each row in its own sequence
    slots: I32  # [n]: block * block_tokens + offset, where the row's key and value are stored
    batch: SpanBatch
    sample_rows: I32  # [r], rising: the rows whose logits are wanted; may be empty
