"""Packed weights on disk: found as they were, or packed again, whatever befell the file."""

import errno
import hashlib
import json
import logging
import multiprocessing
import struct

import numpy as np
import pytest

from vilfredo.weights import packedcache as module
from vilfredo.weights.packedcache import LEFT_FREE_BYTES, PackedCache
from vilfredo.weights.packedfile import MAGIC, Origin, Place, memory_start

SIZE = 1 << 16
GAINS = (0.5, 2.0)


class Fill:
    """Packs by copying; counts how often."""

    def __init__(self):
        self.count = 0

    def __call__(self, memory):
        self.count += 1
        memory[:] = np.random.default_rng(3).integers(0, 256, SIZE, np.uint8)
        return GAINS


@pytest.fixture
def fill():
    return Fill()


@pytest.fixture
def origin(tmp_path):
    source = tmp_path / "model.gguf"
    source.write_bytes(b"weights")
    return make_origin(source)


def make_origin(source, **changes):
    places = (Place("a", "Q4_1", (8, 32), 0, SIZE - 64), Place("b", "F32", (1, 16), SIZE - 64, 64))
    facts = {"identity": "i", "layout": "rows8", "version": "1", "places": places, "size": SIZE}
    return Origin(source=str(source), **(facts | changes))


@pytest.fixture
def cache(tmp_path):
    return PackedCache(tmp_path / "packed", threads=2, free=lambda folder: 1 << 40)


def check(stored, fill):
    expected = np.empty(SIZE, np.uint8)
    assert stored.gains == fill(expected)
    fill.count -= 1
    assert np.array_equal(stored.memory, expected)


def packed_files(cache):
    return sorted(path.name for path in cache.folder.iterdir() if path.name != "lock")


def test_what_was_packed_is_found_to_the_last_bit(cache, origin, fill, caplog):
    for _ in range(3):
        check(cache.find_or_pack(origin, fill), fill)
    assert fill.count == 1
    assert packed_files(cache) == [cache.path(origin).name]
    assert not caplog.records


def replace_contents(data, edit):
    """The file with other contents, whose checksum is right."""
    size = struct.unpack_from("<Q", data, 16)[0]
    contents = json.loads(data[56 : 56 + size])
    edit(contents)
    text = json.dumps(contents).encode()
    prefix = struct.pack("<8sQQ32s", MAGIC, 1, len(text), hashlib.sha256(text).digest())
    return (prefix + text).ljust(memory_start(len(text)), b"\0") + data[memory_start(size) :]


DAMAGES = {
    "empty": (lambda data: b"", "is no file of packed weights"),
    "foreign": (lambda data: b"GGUF" + data[4:], "is no file of packed weights"),
    "short prefix": (lambda data: data[:50], "is no file of packed weights"),
    "version": (lambda data: data[:8] + b"\2" + data[9:], "has the version 2, not 1"),
    "long contents": (lambda data: data[:16] + b"\xff" * 8 + data[24:], "too long to be true"),
    "contents": (lambda data: data[:100] + bytes([data[100] ^ 1]) + data[101:], "are damaged"),
    "cut contents": (lambda data: data[:200], "are damaged"),
    "truncated": (lambda data: data[:-1], "another length"),
    "longer": (lambda data: data + b"\0", "another length"),
    "weights": (
        lambda data: data[:-9] + bytes([data[-9] ^ 16]) + data[-8:],
        "weights that are dam",
    ),
    "zero page": (lambda data: data[:-4096] + bytes(4096), "weights that are damaged"),
    "kind": (
        lambda data: replace_contents(data, lambda contents: contents.pop("origin")),
        "contents of another kind",
    ),
    "gains": (
        lambda data: replace_contents(data, lambda contents: contents["gains"].pop()),
        "weights that are damaged",
    ),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_file_is_told_and_replaced(cache, origin, fill, caplog, damage):
    cache.find_or_pack(origin, fill)
    path = cache.path(origin)
    good = path.read_bytes()
    change, reason = DAMAGES[damage]
    path.write_bytes(change(good))
    check(cache.find_or_pack(origin, fill), fill)
    assert fill.count == 2
    assert reason in caplog.messages[0]
    assert "packed again" in caplog.messages[0]
    assert path.read_bytes() == good


@pytest.mark.parametrize(
    "change", [{"identity": "j"}, {"version": "2"}, {"size": SIZE, "places": ()}], ids=str
)
def test_what_is_of_another_file_or_version_is_replaced_silently(
    cache, origin, fill, caplog, change
):
    cache.find_or_pack(origin, fill)
    later = make_origin(origin.source, **change)
    if not later.places:
        fill = lambda memory: ()  # noqa: E731
    cache.find_or_pack(later, fill)
    assert packed_files(cache) == [cache.path(later).name]
    assert cache.path(origin) == cache.path(later)
    assert not caplog.records


def test_each_source_and_layout_has_a_file(cache, origin, fill, tmp_path):
    other = tmp_path / "other" / "model.gguf"
    other.parent.mkdir()
    other.write_bytes(b"weights")
    for each in (origin, make_origin(origin.source, layout="rows16"), make_origin(other)):
        cache.find_or_pack(each, fill)
    assert len(packed_files(cache)) == fill.count == 3


def test_what_nobody_will_read_is_removed_when_something_is_written(cache, origin, fill, tmp_path):
    gone = tmp_path / "gone.gguf"
    gone.write_bytes(b"weights")
    cache.find_or_pack(make_origin(gone), fill)
    (cache.folder / "killed.draft").write_bytes(b"half")
    (cache.folder / "old.packed").write_bytes(MAGIC + b"\0" * 100)
    (cache.folder / "notes").write_text("the user's")
    gone.unlink()
    cache.find_or_pack(origin, fill)
    assert packed_files(cache) == [cache.path(origin).name, "notes"]


def test_a_folder_that_cannot_be_made_costs_a_line(origin, fill, caplog, tmp_path):
    (tmp_path / "file").write_bytes(b"")
    cache = PackedCache(tmp_path / "file" / "packed")
    check(cache.find_or_pack(origin, fill), fill)
    assert [record.levelno for record in caplog.records] == [logging.WARNING] * len(caplog.records)
    assert "are not kept" in caplog.messages[-1]
    assert "Not a directory" in caplog.messages[-1]


def test_a_file_is_read_from_a_folder_that_cannot_be_written(cache, origin, fill, monkeypatch):
    cache.find_or_pack(origin, fill)

    def refuse(*_):
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(module, "locked", refuse)
    check(cache.find_or_pack(origin, fill), fill)
    assert fill.count == 1


def test_a_full_disk_costs_a_line_and_keeps_nothing(origin, fill, caplog, tmp_path):
    def fail(file, contents, memory):
        file.write(b"half")
        raise OSError(errno.ENOSPC, "No space left on device")

    cache = PackedCache(tmp_path / "packed", free=lambda folder: 1 << 40, write=fail)
    check(cache.find_or_pack(origin, fill), fill)
    assert packed_files(cache) == []
    assert len(caplog.messages) == 1
    assert "No space left on device" in caplog.messages[0]


@pytest.mark.parametrize(("missing", "kept"), [(0, 1), (1, 0)])
def test_a_disk_is_not_filled_up(origin, fill, caplog, tmp_path, missing, kept):
    free = SIZE + LEFT_FREE_BYTES - missing
    cache = PackedCache(tmp_path / "packed", free=lambda folder: free)
    check(cache.find_or_pack(origin, fill), fill)
    assert len(packed_files(cache)) == kept
    assert ["no room for" in message for message in caplog.messages] == [True] * missing


def test_an_error_of_the_packing_is_passed_on_and_lets_go_of_the_lock(cache, origin, fill):
    def fail(memory):
        raise OSError("the model's disk is gone")

    with pytest.raises(OSError, match="the model's disk is gone"):
        cache.find_or_pack(origin, fail)
    check(cache.find_or_pack(origin, fill), fill)


def _start(folder, origin, barrier, results):
    fill = Fill()
    barrier.wait()
    stored = PackedCache(folder, free=lambda _: 1 << 40).find_or_pack(origin, fill)
    results.put((fill.count, int(stored.memory.view(np.uint64).sum()), stored.gains))


def test_of_processes_that_start_together_one_packs(cache, origin):
    fork = multiprocessing.get_context("spawn")
    barrier, results = fork.Barrier(2), fork.Queue()
    processes = [
        fork.Process(target=_start, args=(cache.folder, origin, barrier, results)) for _ in range(2)
    ]
    for process in processes:
        process.start()
    found = [results.get(timeout=60) for _ in processes]
    for process in processes:
        process.join()
    assert sum(count for count, _, _ in found) == 1
    assert found[0][1:] == found[1][1:]


def test_whoever_waits_says_so_and_finds_what_the_other_packed(cache, origin, caplog, monkeypatch):
    first, second = Fill(), Fill()
    locked = module.locked

    def slow(path, told):
        told()
        monkeypatch.setattr(module, "locked", locked)
        cache.find_or_pack(origin, first)  # what the other does meanwhile
        return locked(path, told)

    monkeypatch.setattr(module, "locked", slow)
    check(cache.find_or_pack(origin, second), second)
    assert (first.count, second.count) == (1, 0)
    assert "waiting for another process" in caplog.messages[0]
