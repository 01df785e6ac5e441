"""A step as the integers that a decoder reads: which token lies where, and which rows sample."""

import numpy as np

from vilfredo.core.step import Step
from vilfredo.models.inputs import DecoderInputs
from vilfredo.ops.table import I32, SpanBatch


def decoder_inputs(step: Step, block_tokens: int) -> DecoderInputs:
    """Lays the step's spans one after the other. The step holds at least one span.

    Python touches each span once; what is done for each token is done by NumPy.
    """
    spans = step.spans
    tokens: list[int] = []
    for span in spans:
        if span.count == 1:
            tokens.append(span.sequence.tokens[span.start])
        else:
            tokens.extend(span.sequence.tokens[span.start : span.start + span.count])
    starts = np.array([span.start for span in spans], np.int32)
    counts = np.array([span.count for span in spans], np.int32)
    samples = np.array([span.samples for span in spans], np.bool_)
    borders = np.zeros(len(spans) + 1, np.int32)
    np.cumsum(counts, out=borders[1:])
    blocks = _block_tables(step)
    if len(tokens) == len(spans):  # one row a span: decoding alone
        row_span, positions = np.arange(len(spans)), starts
    else:
        row_span = np.repeat(np.arange(len(spans)), counts)
        positions = np.arange(len(tokens), dtype=np.int32) + (starts - borders[:-1])[row_span]
    block, offset = np.divmod(positions, np.int32(block_tokens))
    return DecoderInputs(
        tokens=np.array(tokens, np.int32),
        positions=positions,
        slots=blocks[row_span, block] * np.int32(block_tokens) + offset,
        batch=SpanBatch(borders=borders, starts=starts, blocks=blocks),
        sample_rows=borders[1:][samples] - np.int32(1),
    )


def _block_tables(step: Step) -> I32:
    """[spans, most blocks of any span], padded with -1."""
    tables = [span.sequence.blocks for span in step.spans]
    if len(tables) == 1:
        return np.array(tables, np.int32)
    padded = np.full((len(tables), max(map(len, tables))), -1, np.int32)
    for row, table in zip(padded, tables, strict=True):
        row[: len(table)] = table
    return padded
