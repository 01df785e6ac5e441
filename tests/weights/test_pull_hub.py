"""Pulls from the hub: one file, a directory, and repositories that hold neither."""

from dataclasses import dataclass
from pathlib import Path

import pytest

from vilfredo.base.errors import PullFailed
from vilfredo.weights.catalog import HubFile, HubModel
from vilfredo.weights.fake import FakeRemote
from vilfredo.weights.store import ModelStore

WHOLE = bytes(400_000)


@pytest.fixture
def remote() -> FakeRemote:
    return FakeRemote()


@pytest.fixture
def store(tmp_path: Path, remote: FakeRemote) -> ModelStore:
    return ModelStore(tmp_path, remote)


def test_a_file_of_the_hub(store: ModelStore, remote: FakeRemote) -> None:
    remote.repos = {"org/repo": {"q/model.gguf": WHOLE, "README.md": b""}}
    path = store.pull(HubModel("org/repo", "q/model.gguf"))
    assert path.read_bytes() == WHOLE
    assert store.find(HubModel("org/repo", "q/model.gguf")) == path
    assert not (path.parent / "stage").exists()


def test_a_directory_of_the_hub(store: ModelStore, remote: FakeRemote) -> None:
    kept = {"config.json": b"{}", "model.safetensors": b"w", "tokenizer.json": b"{}"}
    others = {"pytorch_model.bin": b"w", "onnx/config.json": b"{}", "README.md": b"#"}
    remote.repos, model = {"org/repo": kept | others}, HubModel("org/repo")
    folder = store.pull(model)
    assert {path.name for path in folder.iterdir()} == {*kept, "lock", "verified.json"}
    assert all((folder / name).read_bytes() == data for name, data in kept.items())
    assert store.find(model) == folder


@dataclass(slots=True)
class LyingHub(FakeRemote):
    given: bytes = b""

    def hub_file(self, file: HubFile, folder: Path) -> Path:
        path = FakeRemote.hub_file(self, file, folder)
        path.write_bytes(self.given)
        return path


@pytest.mark.parametrize(
    ("states_hashes", "given", "said"),
    [
        (True, WHOLE[:-1] + b"!", "has the SHA-256"),
        (False, b"other", "has 5 bytes, not 400,000"),
        (False, WHOLE + b"!", "has more than 400,000 bytes"),
    ],
)
def test_a_hub_that_gives_something_else_than_it_lists(
    states_hashes: bool, given: bytes, said: str, tmp_path: Path
) -> None:
    repos = {"org/repo": {"model.gguf": WHOLE}}
    hub = LyingHub(repos=repos, states_hashes=states_hashes, given=given)
    store, model = ModelStore(tmp_path, hub), HubModel("org/repo", "model.gguf")
    with pytest.raises(PullFailed, match=said):
        store.pull(model)
    assert store.find(model) is None
    assert {path.name for path in (tmp_path / model.folder).iterdir()} == {"lock"}


@pytest.mark.parametrize(
    ("model", "said"),
    [
        (HubModel("org/gone"), "hf:org/gone: no such repository"),
        (HubModel("org/ggufs", "c.gguf"), r"org/ggufs has no file c\.gguf"),
        (HubModel("org/ggufs"), r"no config\.json; name one of its files: a\.gguf, b\.gguf"),
        (HubModel("org/data"), r"no config\.json; nor a GGUF file"),
    ],
)
def test_what_a_repository_does_not_hold(
    model: HubModel, said: str, store: ModelStore, remote: FakeRemote
) -> None:
    remote.repos = {"org/ggufs": {"b.gguf": b"", "a.gguf": b""}, "org/data": {"a.csv": b""}}
    with pytest.raises(PullFailed, match=said):
        store.pull(model)
