"""Long arrays of strings in a GGUF header, read at the speed of NumPy where they look as
vocabularies do. Never an error: whoever calls has a slower way that names what is wrong."""

import mmap

import numpy as np
from numpy.typing import NDArray

PREFIX_BYTES = 8  # a string's length, little-endian, before its text
BLOCK_BYTES = 1 << 20


def read_plain_strings(data: mmap.mmap, at: int, count: int) -> tuple[list[str], int] | None:
    """The strings and the byte after them, or None if one is empty, holds a NUL, is no UTF-8, is
    longer than 65,535 bytes or does not end within the file.

    All others leave a mark that needs no walk from string to string: six zero bytes, the top of
    a length, before a byte that is not zero. Whether the marks are lengths that chain up is
    checked; then every length becomes one NUL, so that the whole is decoded and split at once.
    """
    raw = np.frombuffer(data, np.uint8)
    places: list[NDArray[np.int64]] = []
    end, found = at, 0
    while found < count:
        starts = _marks(raw[end : end + BLOCK_BYTES])[: count - found] + end
        if not len(starts):
            return None
        lengths = raw[starts] + raw[starts + 1].astype(np.int64) * 256
        ends = starts + PREFIX_BYTES + lengths
        if starts[0] != end or np.any(ends[:-1] != starts[1:]):
            return None
        places.append(starts)
        end, found = int(ends[-1]), found + len(starts)
    if not places or end > len(data):
        return None
    strings = _split(raw[at:end], np.concatenate(places) - at)
    return None if strings is None else (strings, end)


def _marks(block: NDArray[np.uint8]) -> NDArray[np.int64]:
    """Where in the block a length seems to lie."""
    zero = block == 0
    two = zero[:-1] & zero[1:]  # [i]: the bytes i and i + 1
    six = two[:-4] & two[2:-2] & two[4:]
    return np.flatnonzero(six[2:-1] & ~zero[PREFIX_BYTES:])


def _split(region: NDArray[np.uint8], starts: NDArray[np.int64]) -> list[str] | None:
    kept = np.ones(len(region), bool)
    for byte in range(1, PREFIX_BYTES):
        kept[starts + byte] = False
    text = region.copy()
    text[starts] = 0
    try:
        strings = text[kept].tobytes().decode().split("\0")
    except UnicodeDecodeError:
        return None
    del strings[0]  # what stands before the first NUL: nothing
    return strings if len(strings) == len(starts) else None
