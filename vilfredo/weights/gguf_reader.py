"""Walks the bytes of a GGUF header: numbers, strings, arrays; all must lie within the file.

No count or length is believed before it is held against the size of the file, so reading never
takes more memory than the file's own bytes justify.
"""

import mmap
import struct
from pathlib import Path
from typing import Any

import numpy as np

from vilfredo.base.errors import BadFile, Unsupported
from vilfredo.weights.gguf_strings import read_plain_strings

BOOL, STRING, ARRAY = 7, 8, 9
SCALARS: dict[int, str] = {
    0: "<u1", 1: "<i1", 2: "<u2", 3: "<i2", 4: "<u4", 5: "<i4", 6: "<f4", BOOL: "?",
    10: "<u8", 11: "<i8", 12: "<f8",
}  # fmt: skip
MANY_STRINGS = 4096  # from here on the faster way pays, however often it should fail


class HeaderReader:
    def __init__(self, path: Path, data: mmap.mmap) -> None:
        self.at = 0
        self._path = path
        self._data = data
        self._size = len(data)

    def take(self, count: int) -> bytes:
        left = self._size - self.at
        if count > left:
            raise BadFile(self._path, f"ends {count - left} bytes too early", self.at)
        taken = self._data[self.at : self.at + count]
        self.at += count
        return taken

    def number(self, kind: str) -> Any:
        dtype = np.dtype(kind)
        return np.frombuffer(self.take(dtype.itemsize), dtype)[0].item()

    def count(self, what: str, least_bytes: int) -> int:
        """A count of things that take at least so many bytes each."""
        at = self.at
        count = self.number("<u8")
        if count > (self._size - self.at) // least_bytes:
            raise BadFile(self._path, f"claims {count} {what}, more than the file can hold", at)
        return count

    def string(self, most_bytes: int | None = None) -> str:
        at = self.at
        count = self.count("bytes of a string", 1)
        if most_bytes is not None and count > most_bytes:
            raise BadFile(self._path, f"has a name of {count} bytes, over {most_bytes}", at)
        return self._decode(self.take(count), at)

    def value(self, kind: int) -> Any:
        """Metadata of one of the format's types; arrays are lists of str or NumPy arrays."""
        if kind == STRING:
            return self.string()
        if kind == ARRAY:
            return self._array()
        return self._scalars(kind, 1)[0].item()

    def _array(self) -> Any:
        kind = self.number("<u4")
        if kind == ARRAY:  # the specification has them, and no model uses them
            raise Unsupported(f"{self._path}, byte {self.at}: arrays of arrays are not read")
        if kind == STRING:
            return self._strings(self.count("strings", 8))
        size = np.dtype(SCALARS[kind]).itemsize if kind in SCALARS else 1
        return self._scalars(kind, self.count("array elements", size))

    def _scalars(self, kind: int, count: int) -> Any:
        if kind not in SCALARS:
            raise BadFile(self._path, f"{kind} is no type of metadata", self.at)
        dtype, at = np.dtype(SCALARS[kind]), self.at
        taken = self.take(count * dtype.itemsize)
        if kind == BOOL and taken.translate(None, b"\0\1"):
            raise BadFile(self._path, "a truth value is neither 0 nor 1", at)
        return np.frombuffer(taken, dtype)

    def _strings(self, count: int) -> list[str]:
        """Vocabularies have some 100,000 of them."""
        if count >= MANY_STRINGS and (plain := read_plain_strings(self._data, self.at, count)):
            strings, self.at = plain
            return strings
        data, size, at = self._data, self._size, self.at
        length_at = struct.Struct("<Q").unpack_from
        strings = []
        for _ in range(count):
            if at + 8 > size:
                raise BadFile(self._path, "ends within an array of strings", at)
            end = at + 8 + length_at(data, at)[0]
            if end > size:
                raise BadFile(self._path, "a string reaches beyond the file", at)
            strings.append(self._decode(data[at + 8 : end], at))
            at = end
        self.at = at
        return strings

    def _decode(self, text: bytes, at: int) -> str:
        try:
            return text.decode()
        except UnicodeDecodeError as error:
            raise BadFile(self._path, "a string is not UTF-8", at + 8 + error.start) from None
