"""The fast way to read strings gives what the plain way gives, or nothing."""

import mmap
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vilfredo.weights.gguf_strings import BLOCK_BYTES, read_plain_strings

PLAIN = st.text(st.characters(exclude_categories=["Cc", "Cs"]), min_size=1, max_size=12)
ANY = st.text(max_size=12)


def laid_out(strings: list[str]) -> bytes:
    encoded = [text.encode() for text in strings]
    return b"".join(struct.pack("<Q", len(text)) + text for text in encoded)


def mapped(data: bytes) -> mmap.mmap:
    memory = mmap.mmap(-1, len(data))
    memory.write(data)
    return memory


def walked(data: bytes, count: int) -> tuple[list[str], int] | None:
    at, strings = 0, []
    for _ in range(count):
        end = at + 8 + int.from_bytes(data[at : at + 8], "little")
        if at + 8 > len(data) or end > len(data):
            return None
        try:
            strings.append(data[at + 8 : end].decode())
        except UnicodeDecodeError:
            return None
        at = end
    return strings, at


@given(st.lists(PLAIN, min_size=1), st.binary(max_size=20))
def test_what_vocabularies_hold_is_read_fast(strings: list[str], after: bytes) -> None:
    data = laid_out(strings)
    assert read_plain_strings(mapped(data + after), 0, len(strings)) == (strings, len(data))


@given(st.lists(ANY, min_size=1), st.binary(max_size=20))
def test_other_strings_are_read_right_or_not_at_all(strings: list[str], after: bytes) -> None:
    data = laid_out(strings)
    read = read_plain_strings(mapped(data + after), 0, len(strings))
    assert read in (None, (strings, len(data)))


@given(
    st.lists(ANY, min_size=1),
    st.lists(st.tuples(st.integers(0, 200), st.integers(0, 255)), max_size=4),
    st.integers(0, 8),
    st.integers(0, 300),
)
def test_damaged_strings_are_read_as_the_plain_way_reads_them(
    strings: list[str], changes: list[tuple[int, int]], more: int, end: int
) -> None:
    changed = bytearray(laid_out(strings))
    for at, byte in changes:
        changed[at % len(changed)] = byte
    data = bytes(changed[: max(1, end)])
    count = len(strings) + more
    assert read_plain_strings(mapped(data), 0, count) in (None, walked(data, count))


def test_arrays_longer_than_a_block_start_anywhere() -> None:
    strings = [f"token {index}" * (1 + index % 7) for index in range(2 * BLOCK_BYTES // 40)]
    data = laid_out(strings)
    assert len(data) > 2 * BLOCK_BYTES
    before = b"\1" * 13
    read = read_plain_strings(mapped(before + data), len(before), len(strings))
    assert read == (strings, len(before) + len(data))


def test_a_string_longer_than_two_bytes_can_say_is_left_to_the_plain_way() -> None:
    data = laid_out(["short", "x" * 65_536, "short"])
    assert read_plain_strings(mapped(data), 0, 3) is None


@pytest.mark.parametrize(
    ("data", "count"),
    [
        (laid_out(["a\0b", "cc"]), 2),  # splits into three
        (laid_out(["x\5\0\0\0\0\0\0\0abcde", "more"]), 2),  # a length within a text
        (laid_out(["abc", "defgh"])[:-2], 2),  # ends too early
    ],
)
def test_look_alikes_are_left_to_the_plain_way(data: bytes, count: int) -> None:
    assert read_plain_strings(mapped(data), 0, count) is None
