"""pip and the hub's client, without a network: what they give, and what they say when they fail."""

import errno
import os
import subprocess
from pathlib import Path
from types import SimpleNamespace

import huggingface_hub
import pytest

from vilfredo.base.errors import PullFailed
from vilfredo.weights.catalog import HubFile
from vilfredo.weights.fake import wheel_of
from vilfredo.weights.remote import Listed, PipAndHub

METADATA = b"Metadata-Version: 2.1\nName: carried\nVersion: 1.0\nRequires-Dist: absent-dependency\n"
FILE = HubFile("org/repo", "model.gguf", "abc")


@pytest.fixture
def pip(tmp_path: Path) -> PipAndHub:
    """With an index that is one folder, as the user's own configuration of pip may have it."""
    index = tmp_path / "index"
    index.mkdir()
    info = "carried-1.0.dist-info"
    wheel = {
        "carried/data.bin": b"data",
        f"{info}/METADATA": METADATA,
        f"{info}/WHEEL": b"Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        f"{info}/RECORD": b"",
    }
    (index / "carried-1.0-py3-none-any.whl").write_bytes(wheel_of(wheel))
    (index / "built-1.0.tar.gz").write_bytes(b"what setup.py does is anybody's guess")
    quiet = {"PIP_CONFIG_FILE": os.devnull, "PIP_DISABLE_PIP_VERSION_CHECK": "1"}
    return PipAndHub({**os.environ, **quiet, "PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(index)})


def test_pip_fetches_a_wheel_and_none_of_its_dependencies(pip: PipAndHub, tmp_path: Path) -> None:
    folder = tmp_path / "incoming"
    folder.mkdir()
    assert pip.wheel("carried==1.0", folder) == folder / "carried-1.0-py3-none-any.whl"
    assert len(list(folder.iterdir())) == 1


@pytest.mark.parametrize("requirement", ["absent==1.0", "built==1.0"])
def test_what_pip_does_not_have_as_a_wheel(
    requirement: str, pip: PipAndHub, tmp_path: Path
) -> None:
    with pytest.raises(PullFailed, match=f"pip download {requirement}: ERROR: No matching"):
        pip.wheel(requirement, tmp_path)


def test_a_disk_that_is_full_under_pip(
    pip: PipAndHub, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    said = "ERROR: Could not install packages: [Errno 28] No space left on device\n"

    def run(command: list[str], **options: object) -> SimpleNamespace:
        return SimpleNamespace(returncode=1, stderr=said)

    monkeypatch.setattr(subprocess, "run", run)
    with pytest.raises(OSError, match="No space left") as caught:
        pip.wheel("carried==1.0", tmp_path)
    assert caught.value.errno == errno.ENOSPC
    said = ""  # a pip that was killed
    with pytest.raises(PullFailed, match="pip ended with 1"):
        pip.wheel("carried==1.0", tmp_path)


def test_the_hub_is_asked_for_one_file(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def download(repo: str, file: str, *, revision: str, local_dir: Path) -> str:
        assert (repo, file, revision) == ("org/repo", "model.gguf", "abc")
        return str(local_dir / file)

    monkeypatch.setattr(huggingface_hub, "hf_hub_download", download)
    assert PipAndHub().hub_file(FILE, tmp_path) == tmp_path / "model.gguf"


def test_the_hub_lists_sizes_and_the_hashes_that_it_has(monkeypatch: pytest.MonkeyPatch) -> None:
    large = SimpleNamespace(rfilename="a.gguf", size=9, lfs=SimpleNamespace(sha256="ff"))
    small = SimpleNamespace(rfilename="config.json", size=2, lfs=None)
    monkeypatch.setattr(
        huggingface_hub.HfApi,
        "model_info",
        lambda self, repo, files_metadata: SimpleNamespace(siblings=[large, small]),
    )
    expected = Listed("a.gguf", 9, "ff"), Listed("config.json", 2, None)
    assert PipAndHub().hub_listing("org/repo") == expected


def test_what_the_hub_s_client_raises(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    fault: Exception = RuntimeError("no connection\nand a page of advice")

    def fail(*arguments: object, **options: object) -> str:
        raise fault

    monkeypatch.setattr(huggingface_hub, "hf_hub_download", fail)
    with pytest.raises(PullFailed, match=r"^hf:org/repo/model\.gguf: no connection$"):
        PipAndHub().hub_file(FILE, tmp_path)
    fault = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    with pytest.raises(OSError, match="No space left"):  # for the pull to say what is needed
        PipAndHub().hub_file(FILE, tmp_path)
    fault = TimeoutError()
    with pytest.raises(PullFailed, match="TimeoutError"):
        PipAndHub().hub_file(FILE, tmp_path)
