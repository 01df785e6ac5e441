"""Memory for all packed weights of a model: one piece, filled by packing, or a file's.

A large file is mapped: it starts in no time, takes no memory beside the file's cache, and processes
share it. A small one is read into huge pages: where the file cache has small ones (as ext4's before
Linux 6.16), address translation costs a model of 135M parameters 5 % of each step, but one of 500M
nothing that could be measured.
"""

import mmap
import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from numpy.typing import NDArray

Bytes = NDArray[np.uint8]
Sums = tuple[int, ...]

HUGE_BYTES = 2 << 20
CHUNK_BYTES = 16 << 20  # read by one thread, and summed while it is in the processor's cache
MOST_READ_BYTES = 256 << 20


def allocate(size: int) -> Bytes:
    """Zeroed, aligned to HUGE_BYTES, and resident only as far as it is written."""
    memory = mmap.mmap(-1, size + HUGE_BYTES, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    whole = np.frombuffer(_in_huge_pages(memory), np.uint8)
    start = -whole.ctypes.data % HUGE_BYTES
    return whole[start : start + size]


def sums_of(memory: Bytes) -> Sums:
    """The sum of each chunk's 64-bit words, modulo 2^64: not against malice, but against what
    disks, crashes and half-written files do, at the speed of memory. The size is whole words."""
    return tuple(_sum(memory[chunk]) for chunk in _chunks(len(memory)))


def load_region(descriptor: int, start: int, size: int, threads: int) -> tuple[Bytes, Sums]:
    """What lies from byte `start` on, and its sums. Raises OSError, also where the file ends
    before."""
    reads = size <= MOST_READ_BYTES
    memory = allocate(size) if reads else _map(descriptor, start, size)

    def load(chunk: slice) -> int:
        if reads:
            _read(descriptor, start + chunk.start, memory[chunk])
        return _sum(memory[chunk])

    with ThreadPoolExecutor(threads) as pool:
        return memory, tuple(pool.map(load, _chunks(size)))


def write_region(descriptor: int, memory: Bytes) -> None:
    """Raises OSError."""
    for chunk in _chunks(len(memory)):
        view = memory[chunk].data
        while view:
            view = view[os.write(descriptor, view) :]


def _map(descriptor: int, start: int, size: int) -> Bytes:
    try:
        memory = mmap.mmap(descriptor, start + size, access=mmap.ACCESS_READ)
    except ValueError as error:
        raise OSError(str(error)) from error
    return np.frombuffer(_in_huge_pages(memory), np.uint8, size, start)


def _in_huge_pages(memory: mmap.mmap) -> mmap.mmap:
    if hasattr(mmap, "MADV_HUGEPAGE"):
        memory.madvise(mmap.MADV_HUGEPAGE)
    return memory


def _read(descriptor: int, at: int, out: Bytes) -> None:
    view = out.data
    while view:
        count = os.preadv(descriptor, [view], at)
        if count == 0:
            raise OSError(f"ends at byte {at}")
        view, at = view[count:], at + count


def _chunks(size: int) -> Iterator[slice]:
    for start in range(0, size, CHUNK_BYTES):
        yield slice(start, min(start + CHUNK_BYTES, size))


def _sum(chunk: Bytes) -> int:
    return int(chunk.view(np.uint64).sum())
