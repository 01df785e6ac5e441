"""Memory that is filled from a file: whole, in chunks, and summed."""

import os

import numpy as np
import pytest

from vilfredo.weights import region
from vilfredo.weights.region import HUGE_BYTES, allocate, load_region, sums_of, write_region

SIZE = 4096 + 64


@pytest.fixture(autouse=True)
def small_chunks(monkeypatch):
    monkeypatch.setattr(region, "CHUNK_BYTES", 1024)


@pytest.fixture(params=[SIZE, SIZE - 1], ids=["read", "mapped"])
def way(request, monkeypatch):
    monkeypatch.setattr(region, "MOST_READ_BYTES", request.param)


@pytest.fixture
def memory():
    found = allocate(SIZE)
    found[:] = np.random.default_rng(0).integers(0, 256, SIZE, np.uint8)
    return found


def test_memory_is_zero_aligned_and_writable():
    found = allocate(SIZE)
    assert len(found) == SIZE
    assert not found.any()
    assert found.ctypes.data % HUGE_BYTES == 0
    assert len(allocate(0)) == 0


@pytest.mark.parametrize("threads", [1, 3])
def test_what_is_written_is_loaded_with_its_sums(way, memory, tmp_path, threads):
    path = tmp_path / "file"
    with path.open("wb") as file:
        file.write(b"12345678")
        file.flush()
        write_region(file.fileno(), memory)
    with path.open("rb") as file:
        loaded, sums = load_region(file.fileno(), 8, SIZE, threads)
    path.unlink()
    assert np.array_equal(loaded, memory)
    assert sums == sums_of(memory)
    assert len(sums) == 5


def test_a_file_that_ends_early_is_an_error(way, memory, tmp_path):
    path = tmp_path / "file"
    path.write_bytes(memory[:-1].tobytes())
    with (
        path.open("rb") as file,
        pytest.raises(OSError, match=f"ends at byte {SIZE - 1}|length is greater"),
    ):
        load_region(file.fileno(), 0, SIZE, 1)


def test_calls_that_do_a_part_are_repeated(memory, tmp_path, monkeypatch):
    write, preadv = os.write, os.preadv
    monkeypatch.setattr(os, "write", lambda to, view: write(to, view[:100]))
    monkeypatch.setattr(os, "preadv", lambda of, views, at: preadv(of, [views[0][:100]], at))
    path = tmp_path / "file"
    with path.open("wb") as file:
        write_region(file.fileno(), memory)
    with path.open("rb") as file:
        assert np.array_equal(load_region(file.fileno(), 0, SIZE, 1)[0], memory)


@pytest.mark.parametrize("bit", [0, 8 * 1023 + 7, 8 * SIZE - 1])
def test_any_flipped_bit_changes_the_sums(memory, bit):
    before = sums_of(memory)
    memory[bit // 8] ^= 1 << bit % 8
    assert sums_of(memory) != before
