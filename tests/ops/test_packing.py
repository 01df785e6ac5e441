"""Packing into a caller's memory: the same matrix as in a table's own, to the last bit."""

import numpy as np
import pytest

from vilfredo.base.errors import Unsupported
from vilfredo.base.quants import FORMATS
from vilfredo.base.tensor import RawTensor
from vilfredo.ops.cpu import CpuKernels, cpu_tables

ROWS, COLUMNS = 37, 512


def raw(format_name: str) -> RawTensor:
    """Random bytes: what they mean does not matter here."""
    form = FORMATS[format_name]
    size = ROWS * COLUMNS // form.elements * form.nbytes
    data = np.random.default_rng(0).integers(0, 256, size, np.uint8)
    return RawTensor("w", format_name, (ROWS, COLUMNS), data)


def aligned(size: int, offset: int = 0) -> np.ndarray:
    whole = np.full(size + 128, 0xA5, np.uint8)  # what was there before must not matter
    start = -whole.ctypes.data % 64 + offset
    return whole[start : start + size]


def rows_of(kernels: CpuKernels, packed) -> np.ndarray:
    """Every weight, as bits: some are no numbers."""
    out = np.empty((ROWS, COLUMNS), np.float32)
    kernels.embed(packed, np.arange(ROWS, dtype=np.int32), 1.0, out)
    return out.view(np.uint32)


@pytest.mark.parametrize("format_name", list(FORMATS))
@pytest.mark.parametrize("table", cpu_tables())
def test_memory_that_was_kept_opens_as_the_matrix_that_was_packed(table, format_name):
    kernels, tensor = CpuKernels(table, 2), raw(format_name)
    packing, alone = kernels.packing, kernels.pack(tensor)
    memory = aligned(packing.size(tensor))
    gain = packing.pack(tensor, memory)
    assert (len(memory), gain) == (alone.nbytes, alone.gain)
    kept = aligned(len(memory))
    kept[:] = memory
    opened = packing.open(tensor, gain, kept)
    del memory, kept
    assert np.array_equal(rows_of(kernels, opened), rows_of(kernels, alone))
    assert (opened.rows, opened.columns, opened.nbytes) == (ROWS, COLUMNS, alone.nbytes)


def test_tables_of_one_layout_pack_the_same_bytes():
    seen: dict[tuple[str, str], bytes] = {}
    for table in cpu_tables():
        packing = CpuKernels(table, 1).packing
        for format_name in FORMATS:
            tensor = raw(format_name)
            memory = aligned(packing.size(tensor))
            packing.pack(tensor, memory)
            key = packing.layout, format_name
            assert seen.setdefault(key, memory.tobytes()) == memory.tobytes(), key


def test_the_version_names_one_build_s_layout():
    versions = {CpuKernels(table, 1).packing.version for table in cpu_tables()}
    assert len(versions) == 1
    assert len(versions.pop()) == 12


def test_memory_that_does_not_fit_is_refused():
    packing, tensor = CpuKernels(cpu_tables()[0], 1).packing, raw("Q4_1")
    size = packing.size(tensor)
    for call in (
        lambda memory: packing.pack(tensor, memory),
        lambda memory: packing.open(tensor, 1.0, memory),
    ):
        with pytest.raises(ValueError, match="memory: not the packed matrix's bytes"):
            call(aligned(size - 1))
        with pytest.raises(ValueError, match="memory: not aligned"):
            call(aligned(size, offset=1))
    read_only = aligned(size)
    read_only.flags.writeable = False
    with pytest.raises(TypeError):
        packing.pack(tensor, read_only)
    packing.open(tensor, 1.0, read_only)


def test_what_is_no_matrix_is_refused():
    packing = CpuKernels(cpu_tables()[0], 1).packing
    with pytest.raises(Unsupported, match=r"w: a matrix is wanted, not the shape \(4,\)"):
        packing.size(RawTensor("w", "F32", (4,), np.zeros(16, np.uint8)))
