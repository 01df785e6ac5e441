"""Which checkpoint a path stands for."""

from pathlib import Path

import pytest

from vilfredo.base.errors import BadFile
from vilfredo.weights.gguf import GgufCheckpoint
from vilfredo.weights.huggingface import HuggingFaceCheckpoint
from vilfredo.weights.open import open_checkpoint

NO_WEIGHTS = (2).to_bytes(8, "little") + b"{}"


def test_a_gguf_file_by_whatever_name(tiny_gguf: Path, tmp_path: Path) -> None:
    (tmp_path / "blob").symlink_to(tiny_gguf)
    assert isinstance(open_checkpoint(tmp_path / "blob"), GgufCheckpoint)


def test_a_directory_with_one_gguf_file_and_with_several(tiny_gguf: Path, tmp_path: Path) -> None:
    (tmp_path / "a.gguf").symlink_to(tiny_gguf)
    (tmp_path / "config.json").write_text("{}")  # as repositories of GGUF files often have
    checkpoint = open_checkpoint(tmp_path)
    assert isinstance(checkpoint, GgufCheckpoint)
    assert checkpoint.path == tmp_path / "a.gguf"
    (tmp_path / "config.json").unlink()
    (tmp_path / "b.gguf").symlink_to(tiny_gguf)
    with pytest.raises(BadFile, match=r"holds 2 GGUF files, so name one: a\.gguf, b\.gguf"):
        open_checkpoint(tmp_path)


def test_a_hugging_face_directory_even_beside_a_gguf_file(tiny_gguf: Path, tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text("{}")
    (tmp_path / "model.safetensors").write_bytes(NO_WEIGHTS)
    (tmp_path / "a.gguf").symlink_to(tiny_gguf)
    assert isinstance(open_checkpoint(tmp_path), HuggingFaceCheckpoint)


def test_paths_that_are_no_checkpoint(tmp_path: Path) -> None:
    with pytest.raises(BadFile, match="does not exist"):
        open_checkpoint(tmp_path / "absent")
    with pytest.raises(BadFile, match=r"without a config\.json or a GGUF file"):
        open_checkpoint(tmp_path)
    (tmp_path / "model.safetensors").write_bytes(NO_WEIGHTS)
    with pytest.raises(BadFile, match="give its directory"):
        open_checkpoint(tmp_path / "model.safetensors")
    (tmp_path / "notes.txt").write_text("not a model at all")
    with pytest.raises(BadFile, match="does not begin with GGUF"):
        open_checkpoint(tmp_path / "notes.txt")
