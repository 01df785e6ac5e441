from array import array

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from vilfredo.core.request import Limits, Request
from vilfredo.core.sequence import Sequence
from vilfredo.core.step import Span, Step
from vilfredo.runner.inputs import decoder_inputs

BLOCK = 4


def span(start, count, length, first_block):
    sequence = Sequence(Request("r", tuple(range(100, 100 + length)), Limits(1)), 0.0)
    blocks = -(-(start + count) // BLOCK)
    sequence.blocks = array("i", range(first_block, first_block + 2 * blocks, 2))
    return Span(sequence, start, count, samples=start + count == length)


@st.composite
def steps(draw):
    spans = []
    for index in range(draw(st.integers(1, 6))):
        start, count = draw(st.integers(0, 20)), draw(st.integers(1, 9))
        spans.append(span(start, count, start + count + draw(st.integers(0, 1)), 50 * index))
    return Step(0, tuple(spans))


@given(steps())
def test_every_token_is_laid_where_its_span_says(step):
    inputs = decoder_inputs(step, BLOCK, 1000)
    row, sampled = 0, []
    for index, each in enumerate(step.spans):
        sequence = each.sequence
        assert inputs.batch.borders[index] == row
        assert inputs.batch.starts[index] == each.start
        for position in range(each.start, each.start + each.count):
            assert inputs.tokens[row] == sequence.tokens[position]
            assert inputs.positions[row] == position
            slot = sequence.blocks[position // BLOCK] * BLOCK + position % BLOCK
            assert inputs.slots[row] == slot
            row += 1
        table = inputs.batch.blocks[index].tolist()
        padding = [-1] * (len(table) - len(sequence.blocks))
        assert table == [*sequence.blocks, *padding]
        if each.samples:
            sampled.append(row - 1)
    assert inputs.batch.borders[-1] == row == len(inputs.tokens)
    assert inputs.sample_rows.tolist() == sampled
    arrays = (inputs.tokens, inputs.positions, inputs.slots, inputs.sample_rows)
    for each in (*arrays, inputs.batch.borders, inputs.batch.starts, inputs.batch.blocks):
        assert each.dtype == np.int32
        assert each.flags.c_contiguous


def test_decoding_alone_lays_one_row_a_span():
    step = Step(0, (span(3, 1, 4, 0), span(17, 1, 18, 50), span(8, 1, 9, 90)))
    inputs = decoder_inputs(step, BLOCK, 1000)
    assert inputs.positions.tolist() == [3, 17, 8]
    assert inputs.batch.borders.tolist() == [0, 1, 2, 3]
    assert inputs.sample_rows.tolist() == [0, 1, 2]
    assert inputs.slots.tolist() == [3, 58 * 4 + 1, 94 * 4]
