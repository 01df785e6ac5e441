from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from vilfredo.text.detokenizer import Detokenizer
from vilfredo.text.tokenizer import ModelTokenizer


class Pieces:
    """A tokenizer whose token n is the n-th of the given pieces."""

    vocabulary = 0
    bos: int | None = None
    ends = frozenset[int]()

    def __init__(self, pieces: Sequence[bytes]) -> None:
        self.pieces = pieces

    def encode(self, text: str, specials: bool = False) -> list[int]:
        raise NotImplementedError

    def name(self, token: int) -> str:
        raise NotImplementedError

    def piece(self, token: int) -> bytes:
        return self.pieces[token]

    def decode(self, tokens: Sequence[int]) -> str:
        return b"".join(map(self.piece, tokens)).decode("utf-8", "replace")


def spell(pieces: Sequence[bytes]) -> list[str]:
    detokenizer = Detokenizer(Pieces(pieces))
    return [*map(detokenizer.push, range(len(pieces))), detokenizer.flush()]


# Bytes that are likely to be almost UTF-8: whole characters, their parts, and stray bytes.
fragments = st.one_of(
    st.text(max_size=3).map(str.encode),
    st.binary(max_size=3),
    st.sampled_from([b"\xf0\x9f", b"\x99\x82", b"\xe2\x82", b"\xac", b"\xed\xa0", b"\xc3", b""]),
)


@given(st.lists(fragments, max_size=20))
def test_joined_pushes_equal_the_whole_decode(pieces: list[bytes]) -> None:
    assert "".join(spell(pieces)) == b"".join(pieces).decode("utf-8", "replace")


def test_characters_come_whole() -> None:
    assert spell([b"\xf0\x9f", b"\x99", b"\x82!"]) == ["", "", "🙂!", ""]


def test_an_unfinished_character_comes_at_the_end() -> None:
    assert spell([b"a\xf0\x9f"]) == ["a", "\ufffd"]


def test_drops_the_space_that_encode_put_before_a_text(piece_tokenizer: ModelTokenizer) -> None:
    tokens = piece_tokenizer.encode("hi ab")
    assert [piece_tokenizer.name(token) for token in tokens] == ["▁hi", "▁ab"]
    opening = Detokenizer(piece_tokenizer, continues=False)
    assert [opening.push(token) for token in [1, *tokens]] == ["", "hi", " ab"]
    continuing = Detokenizer(piece_tokenizer)
    assert [continuing.push(token) for token in tokens] == [" hi", " ab"]


def test_keeps_a_space_that_belongs_to_the_text(byte_tokenizer: ModelTokenizer) -> None:
    opening = Detokenizer(byte_tokenizer, continues=False)
    assert "".join(map(opening.push, byte_tokenizer.encode(" hello"))) == " hello"
