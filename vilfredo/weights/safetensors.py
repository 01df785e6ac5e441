"""A safetensors file, memory-mapped: a JSON header that says where each tensor lies, then bytes.

Layout: the header's length as a little-endian 64-bit number, the header, and the data that its
offsets count from. Nothing in the header is believed before it is held against the file.
"""

import json
import math
import mmap
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from vilfredo.base.errors import BadFile, Unsupported
from vilfredo.base.quants import FORMATS
from vilfredo.base.tensor import RawTensor
from vilfredo.weights.mapped import map_file, release

PREFIX_BYTES = 8
MOST_HEADER_BYTES = 100_000_000  # as the format's own library has it
READ = ("BF16", "F16", "F32")  # their names are the same here and in FORMATS
MOST_DIMENSIONS = 8


@dataclass(frozen=True, slots=True)
class _Place:
    dtype: str
    shape: tuple[int, ...]
    start: int  # from the start of the data
    end: int


class SafetensorsFile:
    def __init__(self, path: Path) -> None:
        """Raises BadFile, naming the tensor or the byte."""
        self.path = path
        self._data = map_file(path)
        self._data_start, header = _read_header(path, self._data)
        room = len(self._data) - self._data_start
        self._places = {
            name: _read_place(path, name, value, room)
            for name, value in header.items()
            if name != "__metadata__"
        }
        end, last = 0, ""
        for name, place in sorted(self._places.items(), key=lambda item: item[1].start):
            if place.start < end:
                raise BadFile(path, f"{name!r} overlaps {last!r}", self._data_start + place.start)
            end, last = place.end, name

    def names(self) -> frozenset[str]:
        return frozenset(self._places)

    def tensor(self, name: str) -> RawTensor:
        """Raises KeyError for a name that is not there and Unsupported for other data types."""
        place = self._places[name]
        if place.dtype not in READ:
            known = ", ".join(READ)
            raise Unsupported(f"{self.path}: {name!r} is of type {place.dtype}; read are {known}")
        start, count = self._data_start + place.start, place.end - place.start
        data = np.frombuffer(self._data, np.uint8, count, start)
        return RawTensor(name, place.dtype, place.shape, data)

    def release(self) -> None:
        release(self._data)


def _read_header(path: Path, data: mmap.mmap) -> tuple[int, dict[str, Any]]:
    """The byte at which the data starts, and the header."""
    length = int.from_bytes(data[:PREFIX_BYTES], "little")
    room = len(data) - PREFIX_BYTES
    if room < 0 or length > min(room, MOST_HEADER_BYTES):
        raise BadFile(path, f"claims a header of {length} bytes, of {max(room, 0)}", 0)
    start = PREFIX_BYTES + length
    try:
        header = json.loads(data[PREFIX_BYTES:start], object_pairs_hook=_unique)
    except (ValueError, RecursionError) as error:
        raise BadFile(path, f"its header is not JSON: {error}", PREFIX_BYTES) from error
    if not isinstance(header, dict):
        raise BadFile(path, "its header is not a JSON object", PREFIX_BYTES)
    return start, header


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    names = dict(pairs)
    if len(names) != len(pairs):
        raise ValueError("a name stands twice")
    return names


def _read_place(path: Path, name: str, value: Any, room: int) -> _Place:
    match value:
        case {"dtype": str(dtype), "shape": list(shape), "data_offsets": [start, end]}:
            numbers = [*shape, start, end]
        case _:
            raise BadFile(path, f"{name!r} lacks a dtype, a shape or two data_offsets")
    if len(shape) > MOST_DIMENSIONS or not all(type(n) is int and 0 <= n <= room for n in numbers):
        raise BadFile(path, f"{name!r} has a shape or offsets that the file cannot hold")
    if end < start or (dtype in READ and math.prod(shape) * FORMATS[dtype].nbytes != end - start):
        raise BadFile(path, f"{name!r} of {dtype} {shape} does not take bytes {start} to {end}")
    return _Place(dtype, tuple(shape), start, end)
