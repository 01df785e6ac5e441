"""The header of a GGUF file, versions 2 and 3: its metadata and where its tensors lie.

The file is not trusted: no count, length or offset is believed before it is held against the size
of the file, so reading never takes more memory than the file's own bytes justify.
"""

import mmap
import struct
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from vilfredo.base.errors import BadFile, Unsupported

MAGIC = b"GGUF"
DEFAULT_ALIGNMENT = 32
MOST_DIMENSIONS = 4
STRING, ARRAY = 8, 9
SCALARS: dict[int, str] = {
    0: "<u1", 1: "<i1", 2: "<u2", 3: "<i2", 4: "<u4", 5: "<i4", 6: "<f4", 7: "?",
    10: "<u8", 11: "<i8", 12: "<f8",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class TensorEntry:
    name: str
    ggml_type: int
    shape: tuple[int, ...]  # outermost first
    offset: int  # from the start of the data
    byte: int  # where the header says so, for errors


@dataclass(frozen=True, slots=True)
class Header:
    version: int
    metadata: dict[str, Any]
    tensors: tuple[TensorEntry, ...]
    data_start: int  # byte of the file


def read_header(path: Path, data: mmap.mmap) -> Header:
    """Raises BadFile naming the byte, and Unsupported for a version that is unknown."""
    reader = _Reader(path, data)
    if reader.take(4) != MAGIC:
        raise BadFile(path, "is not a GGUF file: it does not begin with GGUF", 0)
    version = reader.number("<u4")
    if version not in (2, 3):
        swapped = int.from_bytes(version.to_bytes(4, "little"), "big")
        if swapped in (2, 3):
            raise Unsupported(f"{path}: big-endian GGUF files are not supported")
        raise Unsupported(f"{path}: GGUF version {version} is not supported, only 2 and 3")
    tensor_count = reader.count("tensors", 24)
    entry_count = reader.count("metadata entries", 13)
    metadata: dict[str, Any] = {}
    for _ in range(entry_count):
        at = reader.at
        key = reader.string()
        if key in metadata:
            raise BadFile(path, f"the key {key!r} stands twice", at)
        metadata[key] = reader.value(reader.number("<u4"))
    tensors: dict[str, TensorEntry] = {}
    for _ in range(tensor_count):
        entry = reader.tensor()
        if entry.name in tensors:
            raise BadFile(path, f"the tensor {entry.name!r} stands twice", entry.byte)
        tensors[entry.name] = entry
    alignment = metadata.get("general.alignment", DEFAULT_ALIGNMENT)
    if not isinstance(alignment, int) or alignment < 1 or alignment & (alignment - 1):
        raise BadFile(path, f"general.alignment is {alignment!r}, not a power of two")
    start = (reader.at + alignment - 1) // alignment * alignment
    for entry in tensors.values():
        if entry.offset % alignment:
            raise BadFile(path, f"{entry.name} is not aligned to {alignment}", entry.byte)
    return Header(version, metadata, tuple(tensors.values()), start)


class _Reader:
    """Walks the header; whatever it is asked for must lie within the file."""

    def __init__(self, path: Path, data: mmap.mmap) -> None:
        self.at = 0
        self._path = path
        self._data = data
        self._size = len(data)

    def take(self, count: int) -> bytes:
        if count > self._size - self.at:
            raise BadFile(
                self._path,
                f"asks for {count} bytes where {self._size - self.at} are left",
                self.at,
            )
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

    def string(self) -> str:
        at = self.at
        return self._decode(self.take(self.count("bytes of a string", 1)), at)

    def value(self, kind: int) -> Any:
        if kind == STRING:
            return self.string()
        if kind == ARRAY:
            return self._array()
        if kind in SCALARS:
            return self.number(SCALARS[kind])
        raise BadFile(self._path, f"{kind} is no type of metadata", self.at - 4)

    def tensor(self) -> TensorEntry:
        byte = self.at
        name = self.string()
        dimensions = self.number("<u4")
        if not 1 <= dimensions <= MOST_DIMENSIONS:
            raise BadFile(self._path, f"{name} has {dimensions} dimensions", byte)
        shape = tuple(self.number("<u8") for _ in range(dimensions))[::-1]
        if 0 in shape:
            raise BadFile(self._path, f"{name} has the empty shape {shape}", byte)
        return TensorEntry(name, self.number("<u4"), shape, self.number("<u8"), byte)

    def _array(self) -> Any:
        kind = self.number("<u4")
        if kind == STRING:
            return self._strings()
        if kind not in SCALARS:  # arrays of arrays are allowed on paper and used by no one
            raise BadFile(self._path, f"{kind} is no type of array elements", self.at - 4)
        dtype = np.dtype(SCALARS[kind])
        count = self.count("array elements", dtype.itemsize)
        return np.frombuffer(self.take(count * dtype.itemsize), dtype)

    def _strings(self) -> list[str]:
        """Vocabularies have some 100,000 of them, so this loop is the time of a header."""
        count = self.count("strings", 8)
        data, size, at = self._data, self._size, self.at
        length_at = struct.Struct("<Q").unpack_from
        strings: list[str] = []
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
