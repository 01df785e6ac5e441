"""Files are told from others by size, time and samples."""

import os

import pytest

from vilfredo.weights.identity import HEAD_BYTES, SAMPLE_BYTES, identify

SIZE = 2_000_000


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "file"
    path.write_bytes(os.urandom(SIZE))
    return path


def rewrite(path, data):
    """Other bytes, and the old time of change."""
    time = path.stat().st_mtime_ns
    path.write_bytes(data)
    os.utime(path, ns=(time, time))


def test_the_same_file_has_the_same_identity_wherever_it_lies(path, tmp_path):
    before = identify([path])
    assert identify([path]) == before
    moved = path.rename(tmp_path / "moved")
    assert identify([moved]) == before
    assert identify([moved, moved]) != before


def test_a_new_time_or_size_is_another(path):
    before = identify([path])
    os.utime(path, ns=(1, 1))
    assert identify([path]) != before
    data = path.read_bytes()
    rewrite(path, data + b"\0")
    assert identify([path]) != before


@pytest.mark.parametrize("byte", [0, HEAD_BYTES - 1, SIZE // 2, SIZE - 1])
def test_other_bytes_where_it_looks_are_another(path, byte):
    before = identify([path])
    data = bytearray(path.read_bytes())
    start = byte - byte % SAMPLE_BYTES
    data[start : start + 16 * SAMPLE_BYTES] = bytes(len(data[start : start + 16 * SAMPLE_BYTES]))
    rewrite(path, data)
    assert identify([path]) != before


def test_a_file_that_is_short_is_read_whole(tmp_path):
    path = tmp_path / "short"
    path.write_bytes(b"")
    empty = identify([path])
    rewrite(path, b"a")
    one = identify([path])
    rewrite(path, b"b")
    assert len({empty, one, identify([path])}) == 3


def test_a_missing_file_is_an_error(tmp_path):
    with pytest.raises(FileNotFoundError):
        identify([tmp_path / "none"])
