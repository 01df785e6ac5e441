"""Memory for all packed weights of a model: one piece, in huge pages, filled by packing or reading.

Not the file itself, mapped. Where the file cache has large pages (ext4 since Linux 6.16) a mapping
decodes as fast; where it has 4 KiB ones, address translation costs a small model 5 % of each step.
Reading costs a start 0.4 s a gigabyte, once, and no later truncation or eviction can reach us.
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
WORD_BYTES = 8


def allocate(size: int) -> Bytes:
    """Zeroed, aligned to HUGE_BYTES, and resident only as far as it is written. `size` is a whole
    number of words."""
    memory = mmap.mmap(-1, size + HUGE_BYTES, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    if hasattr(mmap, "MADV_HUGEPAGE"):
        memory.madvise(mmap.MADV_HUGEPAGE)
    whole = np.frombuffer(memory, np.uint8)
    start = -whole.ctypes.data % HUGE_BYTES
    return whole[start : start + size]


def sums_of(memory: Bytes) -> Sums:
    """The sum of each chunk's 64-bit words, modulo 2^64: not against malice, but against what
    disks, crashes and half-written files do, at the speed of memory."""
    return tuple(_sum(memory[chunk]) for chunk in _chunks(len(memory)))


def read_region(descriptor: int, start: int, size: int, threads: int) -> tuple[Bytes, Sums]:
    """What lies from byte `start` on, and its sums. Raises OSError, also where the file ends
    before."""
    memory = allocate(size)

    def read(chunk: slice) -> int:
        view, at = memory[chunk].data, start + chunk.start
        while view:
            count = os.preadv(descriptor, [view], at)
            if count == 0:
                raise OSError(f"ends at byte {at}")
            view, at = view[count:], at + count
        return _sum(memory[chunk])

    with ThreadPoolExecutor(threads) as pool:
        return memory, tuple(pool.map(read, _chunks(size)))


def write_region(descriptor: int, memory: Bytes) -> None:
    """Raises OSError."""
    for chunk in _chunks(len(memory)):
        view = memory[chunk].data
        while view:
            view = view[os.write(descriptor, view) :]


def _chunks(size: int) -> Iterator[slice]:
    for start in range(0, size, CHUNK_BYTES):
        yield slice(start, min(start + CHUNK_BYTES, size))


def _sum(chunk: Bytes) -> int:
    return int(chunk.view(np.uint64).sum())
