"""A step as the integers that a decoder reads: which token lies where, and which rows sample."""

from array import array

import numpy as np

from vilfredo.core.step import Span, Step
from vilfredo.models.inputs import DecoderInputs
from vilfredo.ops.table import I32, SpanBatch


def decoder_inputs(step: Step, block_tokens: int, vocabulary: int) -> DecoderInputs:
    """Lays the step's spans one after the other. The step holds at least one span.

    Python touches each span a few times; what is done for each token is done by NumPy. Raises
    ValueError for a token that is not below `vocabulary`.
    """
    spans = step.spans
    counts = [span.count for span in spans]
    if sum(counts) == len(spans):
        return _decoding(spans, block_tokens, vocabulary)
    tokens: list[int] = []
    for span in spans:
        tokens.extend(span.sequence.tokens[span.start : span.start + span.count])
    _check(tokens, vocabulary)
    starts = _int32([span.start for span in spans])
    samples = np.array([span.samples for span in spans], np.bool_)
    borders = np.zeros(len(spans) + 1, np.int32)
    np.cumsum(counts, out=borders[1:])
    blocks = _block_tables(spans)
    row_span = np.repeat(np.arange(len(spans)), counts)
    positions = np.arange(len(tokens), dtype=np.int32) + (starts - borders[:-1])[row_span]
    block, offset = np.divmod(positions, np.int32(block_tokens))
    return DecoderInputs(
        tokens=_int32(tokens),
        positions=positions,
        slots=blocks[row_span, block] * np.int32(block_tokens) + offset,
        batch=SpanBatch(borders=borders, starts=starts, blocks=blocks),
        sample_rows=borders[1:][samples] - np.int32(1),
    )


def _decoding(spans: tuple[Span, ...], block_tokens: int, vocabulary: int) -> DecoderInputs:
    """Of spans of one row each, for which there is next to nothing to compute."""
    tokens = [span.sequence.tokens[span.start] for span in spans]
    _check(tokens, vocabulary)
    starts = [span.start for span in spans]
    tables = [span.sequence.blocks for span in spans]
    slots = [
        table[start // block_tokens] * block_tokens + start % block_tokens
        for table, start in zip(tables, starts, strict=True)
    ]
    borders = np.arange(len(spans) + 1, dtype=np.int32)
    positions = _int32(starts)
    return DecoderInputs(
        tokens=_int32(tokens),
        positions=positions,
        slots=_int32(slots),
        batch=SpanBatch(borders=borders, starts=positions, blocks=_block_tables(spans)),
        sample_rows=_int32([row for row, span in enumerate(spans) if span.samples]),
    )


def _check(tokens: list[int], vocabulary: int) -> None:
    if min(tokens) < 0 or max(tokens) >= vocabulary:
        raise ValueError(f"there is a token outside the vocabulary of {vocabulary}")


def _block_tables(spans: tuple[Span, ...]) -> I32:
    """[spans, most blocks of any span], padded with -1."""
    tables = [span.sequence.blocks for span in spans]
    width = max(map(len, tables))
    padding = array("i", [-1]) * width
    rows = array("i")
    for table in tables:
        rows += table
        rows += padding[len(table) :]
    return np.frombuffer(rows, np.int32).reshape(len(tables), width)


def _int32(values: list[int]) -> I32:
    """Several times as fast as np.array."""
    return np.frombuffer(array("i", values), np.int32) if values else np.empty(0, np.int32)
