from vilfredo.core.request import Limits, Request
from vilfredo.core.sequence import Sequence, State
from vilfredo.core.step import Span, Step


def test_a_sequence_begins_with_all_tokens_known_and_none_computed():
    sequence = Sequence(Request("a", (1, 2, 3), Limits(9), output=(4, 5)), arrival=1.5)
    assert sequence.tokens == [1, 2, 3, 4, 5]
    assert sequence.output_count == 2
    assert (sequence.computed, len(sequence.blocks), sequence.state) == (0, 0, State.WAITING)
    sequence.tokens.append(6)
    assert sequence.output_count == 3


def test_a_step_counts_the_tokens_of_its_spans():
    sequence = Sequence(Request("a", (1, 2, 3), Limits(9)), arrival=0.0)
    assert Step(1, (Span(sequence, 0, 2, False), Span(sequence, 2, 1, True))).tokens == 3
