"""The header of a GGUF file, versions 2 and 3: its metadata and where its tensors lie.

The file is not trusted: no count, length or offset is believed before it is held against the size
of the file, so reading never takes more memory than the file's own bytes justify.
"""

import mmap
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from vilfredo.base.errors import BadFile, Unsupported
from vilfredo.weights.gguf_reader import HeaderReader

MAGIC = b"GGUF"
VERSIONS = (2, 3)
ALIGNMENT = "general.alignment"
DEFAULT_ALIGNMENT = 32
MOST_DIMENSIONS = 4
MOST_NAME_BYTES = 64  # as the specification has these two
MOST_KEY_BYTES = 65_535


@dataclass(frozen=True, slots=True)
class TensorEntry:
    name: str
    ggml_type: int
    shape: tuple[int, ...]  # outermost first
    offset: int  # from the start of the data
    byte: int  # where the header says so, for errors


@dataclass(frozen=True, slots=True)
class Header:
    metadata: dict[str, Any]
    tensors: tuple[TensorEntry, ...]
    data_start: int  # byte of the file


def read_header(path: Path, data: mmap.mmap) -> Header:
    """Raises BadFile naming the byte, and Unsupported for a version that is unknown."""
    reader = HeaderReader(path, data)
    if reader.take(4) != MAGIC:
        raise BadFile(path, "is not a GGUF file: it does not begin with GGUF", 0)
    version = reader.number("<u4")
    if version not in VERSIONS:
        if int.from_bytes(version.to_bytes(4, "little"), "big") in VERSIONS:
            raise Unsupported(f"{path}: big-endian GGUF files are not supported")
        raise Unsupported(f"{path}: GGUF version {version} is not supported, only 2 and 3")
    tensor_count = reader.count("tensors", 24)
    entry_count = reader.count("metadata entries", 13)
    metadata: dict[str, Any] = {}
    for _ in range(entry_count):
        at = reader.at
        key = reader.string(MOST_KEY_BYTES)
        if key in metadata:
            raise BadFile(path, f"the key {key[:64]!r} stands twice", at)
        metadata[key] = reader.value(reader.number("<u4"))
    tensors: dict[str, TensorEntry] = {}
    for _ in range(tensor_count):
        entry = _read_tensor(path, reader)
        if entry.name in tensors:
            raise BadFile(path, f"the tensor {entry.name!r} stands twice", entry.byte)
        tensors[entry.name] = entry
    alignment = metadata.get(ALIGNMENT, DEFAULT_ALIGNMENT)
    if type(alignment) is not int or alignment < 1 or alignment & (alignment - 1):
        raise BadFile(path, f"{ALIGNMENT} is no power of two")
    start = (reader.at + alignment - 1) // alignment * alignment
    for entry in tensors.values():
        if entry.offset % alignment:
            raise BadFile(path, f"{entry.name!r} is not aligned to {alignment}", entry.byte)
    return Header(metadata, tuple(tensors.values()), start)


def _read_tensor(path: Path, reader: HeaderReader) -> TensorEntry:
    byte = reader.at
    name = reader.string(MOST_NAME_BYTES)
    dimensions = reader.number("<u4")
    if not 1 <= dimensions <= MOST_DIMENSIONS:
        raise BadFile(path, f"{name!r} has {dimensions} dimensions", byte)
    shape = tuple(reader.number("<u8") for _ in range(dimensions))[::-1]  # innermost first on disk
    if 0 in shape:
        raise BadFile(path, f"{name!r} has the empty shape {shape}", byte)
    return TensorEntry(name, reader.number("<u4"), shape, reader.number("<u8"), byte)
