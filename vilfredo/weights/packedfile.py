"""A file of packed weights: what it was made of, where each matrix lies, then their memory.

A prefix of magic, version, length and SHA-256 of the contents; the contents as JSON; and from the
next whole page on the memory, just as a table reads it. Nothing is believed before it is checked.
"""

import hashlib
import os
import struct
from typing import BinaryIO

import msgspec

from vilfredo.weights.region import Bytes, write_region

MAGIC = b"VILFPACK"
VERSION = 1
PAGE_BYTES = 4096
MOST_CONTENTS_BYTES = 64 << 20
_PREFIX = struct.Struct("<8sQQ32s")


class NotPacked(Exception):
    """The file is not what it should be; the message says how."""


class Place(msgspec.Struct, frozen=True):
    """A matrix: what the checkpoint has it as, and where it lies in the memory."""

    name: str
    format: str
    shape: tuple[int, ...]
    offset: int
    size: int


class Origin(msgspec.Struct, frozen=True):
    """What memory was made of. Two that are equal hold the same bytes."""

    source: str  # the checkpoint's path
    identity: str  # of its files
    layout: str
    version: str  # of the layout
    places: tuple[Place, ...]
    size: int  # of the memory


class Contents(msgspec.Struct, frozen=True):
    origin: Origin
    gains: tuple[float, ...]  # of the places
    sums: tuple[int, ...]  # of the memory's chunks


def write_packed(file: BinaryIO, contents: Contents, memory: Bytes) -> None:
    """On the disk to stay when it returns. Raises OSError."""
    text = msgspec.json.encode(contents)
    prefix = _PREFIX.pack(MAGIC, VERSION, len(text), hashlib.sha256(text).digest())
    start = memory_start(len(text))
    if hasattr(os, "posix_fallocate"):  # a full disk is known before a gigabyte is written
        os.posix_fallocate(file.fileno(), 0, start + len(memory))
    file.write((prefix + text).ljust(start, b"\0"))
    file.flush()
    write_region(file.fileno(), memory)
    os.fsync(file.fileno())


def read_contents(file: BinaryIO) -> tuple[Contents, int]:
    """The contents, and the byte where the memory begins. Raises NotPacked and OSError."""
    prefix = file.read(_PREFIX.size)
    if len(prefix) < _PREFIX.size or not prefix.startswith(MAGIC):
        raise NotPacked("is no file of packed weights")
    _, version, size, digest = _PREFIX.unpack(prefix)
    if version != VERSION:
        raise NotPacked(f"has the version {version}, not {VERSION}")
    if size > MOST_CONTENTS_BYTES:
        raise NotPacked("has contents that are too long to be true")
    text = file.read(size)
    if hashlib.sha256(text).digest() != digest:
        raise NotPacked("has contents that are damaged")
    try:
        contents = msgspec.json.decode(text, type=Contents)
    except msgspec.DecodeError as error:
        raise NotPacked(f"has contents of another kind: {error}") from error
    start = memory_start(size)
    if os.fstat(file.fileno()).st_size != start + contents.origin.size:
        raise NotPacked("has another length than its contents say")
    return contents, start


def memory_start(contents_bytes: int) -> int:
    return -(-(_PREFIX.size + contents_bytes) // PAGE_BYTES) * PAGE_BYTES
