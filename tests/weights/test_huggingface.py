"""Hugging Face directories, whole and in shards."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from vilfredo.base.errors import BadFile, Unsupported
from vilfredo.base.quants import dequantize
from vilfredo.weights.huggingface import HuggingFaceCheckpoint


def write_weights(path: Path, **values: float) -> None:
    header = {
        name: {"dtype": "F32", "shape": [1], "data_offsets": [4 * index, 4 * index + 4]}
        for index, name in enumerate(values)
    }
    text = json.dumps(header).encode()
    data = np.array(list(values.values()), np.float32).tobytes()
    path.write_bytes(len(text).to_bytes(8, "little") + text + data)


def write_index(folder: Path, places: Any) -> None:
    (folder / "model.safetensors.index.json").write_text(json.dumps({"weight_map": places}))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "config.json").write_text('{"model_type": "llama", "vocab_size": 3}')
    return tmp_path


def test_one_file(folder: Path) -> None:
    write_weights(folder / "model.safetensors", a=1, b=2)
    checkpoint = HuggingFaceCheckpoint(folder)
    assert (checkpoint.kind, checkpoint.path) == ("hf", folder)
    assert checkpoint.config == {"model_type": "llama", "vocab_size": 3}
    assert checkpoint.names() == {"a", "b"}
    assert dequantize(checkpoint.tensor("b")) == [2]
    with pytest.raises(BadFile, match="has no tensor 'c'"):
        checkpoint.tensor("c")


def test_shards_are_found_through_their_index(folder: Path) -> None:
    write_weights(folder / "one.safetensors", a=1, b=2)
    write_weights(folder / "two.safetensors", c=3)
    write_index(folder, {"a": "one.safetensors", "b": "one.safetensors", "c": "two.safetensors"})
    checkpoint = HuggingFaceCheckpoint(folder)
    assert checkpoint.names() == {"a", "b", "c"}
    assert [dequantize(checkpoint.tensor(name)).item() for name in "abc"] == [1, 2, 3]
    assert checkpoint.files == (folder / "one.safetensors", folder / "two.safetensors")
    tensor = checkpoint.tensor("c")
    checkpoint.release()
    assert dequantize(tensor) == [3], "what was given back is read again"


@pytest.mark.parametrize(
    ("places", "said"),
    [
        (None, "weight_map is missing or no object"),
        (["a"], "weight_map is missing or no object"),
        ({"a": "../one.safetensors"}, "which is no file beside it"),
        ({"a": "/etc/passwd"}, "which is no file beside it"),
        ({"a": 7}, "which is no file beside it"),
        ({"a": "gone.safetensors"}, "gone.safetensors: No such file"),
        ({"z": "one.safetensors"}, "'z' is not in one.safetensors"),
    ],
)
def test_an_index_that_lies(places: Any, said: str, folder: Path) -> None:
    write_weights(folder / "one.safetensors", a=1)
    write_index(folder, places)
    with pytest.raises(BadFile, match=said):
        HuggingFaceCheckpoint(folder)


@pytest.mark.parametrize(
    ("text", "said"),
    [("{", "is not JSON"), ("[]", "is not a JSON object"), ("[" * 100_000, "is not JSON")],
)
def test_a_config_that_cannot_be_read(text: str, said: str, folder: Path) -> None:
    (folder / "config.json").write_text(text)
    with pytest.raises(BadFile, match=said):
        HuggingFaceCheckpoint(folder)


def test_a_config_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(BadFile, match=r"config\.json: No such file"):
        HuggingFaceCheckpoint(tmp_path)


def test_other_weight_files_are_not_read(folder: Path) -> None:
    (folder / "pytorch_model.bin").write_bytes(b"pickle")
    with pytest.raises(Unsupported, match="only safetensors are read"):
        HuggingFaceCheckpoint(folder)
