from collections.abc import Sequence
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vilfredo.base.errors import InvalidInput
from vilfredo.text.stream import TextDelta, TextStream


class Characters:
    """A tokenizer whose tokens are the bytes of UTF-8."""

    vocabulary = 256
    bos: int | None = None
    ends = frozenset[int]()

    def encode(self, text: str, specials: bool = False) -> list[int]:
        return list(text.encode())

    def name(self, token: int) -> str:
        return str(token)

    def piece(self, token: int) -> bytes:
        return bytes([token])

    def decode(self, tokens: Sequence[int]) -> str:
        return bytes(tokens).decode("utf-8", "replace")


def run(chunks: Sequence[bytes], stops: tuple[str, ...], include: bool = False) -> list[TextDelta]:
    stream = TextStream(Characters(), stops, include)
    return [*(stream.push(list(chunk)) for chunk in chunks), stream.finish()]


def cut_at_first_stop(text: str, stops: tuple[str, ...], include: bool) -> tuple[str, str | None]:
    """The specification: grow the text by characters until it ends with a stop string."""
    for end in range(1, len(text) + 1):
        found = [stop for stop in stops if text[:end].endswith(stop)]
        if found:
            stop = max(found, key=len)
            return text[: end if include else end - len(stop)], stop
    return text, None


alphabet = st.text(alphabet="abé", max_size=12)


@given(
    alphabet,
    st.lists(st.text(alphabet="abé\ufffd", min_size=1, max_size=4), max_size=3).map(tuple),
    st.lists(st.integers(0, 30), max_size=6),
    st.booleans(),
    st.sampled_from([b"", b"\xc3"]),
)
def test_streamed_text_equals_the_whole_text_cut(
    text: str, stops: tuple[str, ...], cuts: list[int], include: bool, tail: bytes
) -> None:
    data = text.encode() + tail
    borders = sorted({0, len(data), *(min(cut, len(data)) for cut in cuts)})
    chunks = [data[a:b] for a, b in pairwise(borders)]
    deltas = run(chunks, stops, include)
    whole, stop = cut_at_first_stop(data.decode("utf-8", "replace"), stops, include)
    assert "".join(delta.text for delta in deltas) == whole
    assert deltas[-1].stopped == stop


@given(alphabet, st.lists(st.text(alphabet="ab", min_size=1, max_size=3), max_size=3).map(tuple))
def test_consumes_up_to_the_token_that_completes_the_stop(
    text: str, stops: tuple[str, ...]
) -> None:
    delta = TextStream(Characters(), stops, include_stop=True).push(list(text.encode()))
    upto, stop = cut_at_first_stop(text, stops, True)
    assert delta.consumed == len((upto if stop else text).encode())


def test_withholds_what_might_become_a_stop() -> None:
    assert [delta.text for delta in run([b"so <", b"/", b"b> </", b"s>!"], ("</s>",))] == [
        *("so ", "", "</b> ", "", "")
    ]


def test_gives_out_what_was_withheld_at_the_end() -> None:
    assert run([b"a </"], ("</s>",))[-1] == TextDelta("</", None, 0)


def test_after_a_stop_nothing_is_consumed() -> None:
    stream = TextStream(Characters(), ("b",))
    assert stream.push(list(b"abc")) == TextDelta("a", "b", 2)
    assert stream.push(list(b"def")) == TextDelta("", "b", 0)
    assert stream.finish() == TextDelta("", "b", 0)


def test_the_stop_completed_first_wins_then_the_longer() -> None:
    assert run([b"xabcd"], ("abcd", "bc"))[0] == TextDelta("xa", "bc", 4)
    assert run([b"xabc"], ("bc", "abc", "c"))[0] == TextDelta("x", "abc", 4)


def test_a_stop_may_hold_the_replacement_of_bytes_that_never_end() -> None:
    assert run([b"a\xc3"], ("\ufffd",)) == [TextDelta("a", None, 2), TextDelta("", "\ufffd", 0)]


def test_an_empty_stop_is_refused() -> None:
    with pytest.raises(InvalidInput, match="stop: must not be empty"):
        TextStream(Characters(), ("a", ""))
