import numpy as np

from vilfredo.core.encode import Encode, Passage, Rows


def test_a_passage_of_one_text_has_no_second():
    passage = Passage.single((1, 2, 3))
    assert passage.second == len(passage.tokens) == 3


def test_the_tokens_of_all_passages_count():
    assert Encode("a", "m", (Passage.single((1, 2)), Passage((3, 4, 5), 1))).tokens == 5


def test_rows_are_counted_by_their_bytes():
    assert Rows(3, np.zeros((4, 3), np.float32).tobytes()).count == 4
    assert Rows(3, b"").count == 0
