"""Hugging Face directories as checkpoints: config.json beside safetensors, whole or in shards."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

from vilfredo.base.errors import BadFile, Unsupported
from vilfredo.base.tensor import RawTensor
from vilfredo.weights.safetensors import SafetensorsFile

INDEX = "model.safetensors.index.json"
SINGLE = "model.safetensors"


class HuggingFaceCheckpoint:
    kind: Literal["hf"] = "hf"

    def __init__(self, path: Path) -> None:
        """Raises BadFile for files that lie or are missing, Unsupported for other weight files."""
        self.path = path
        self.config: Mapping[str, Any] = _read_object(path / "config.json")
        self._files: dict[str, SafetensorsFile] = {}  # by tensor
        if (path / INDEX).is_file():
            self._open_shards(path / INDEX)
        elif (path / SINGLE).is_file():
            file = SafetensorsFile(path / SINGLE)
            self._files = dict.fromkeys(file.names(), file)
        else:
            raise Unsupported(f"{path} has neither {SINGLE} nor {INDEX}; only safetensors are read")

    def names(self) -> frozenset[str]:
        return frozenset(self._files)

    def tensor(self, name: str) -> RawTensor:
        """Raises Unsupported for a data type other than BF16, F16 and F32."""
        try:
            return self._files[name].tensor(name)
        except KeyError:
            raise BadFile(self.path, f"has no tensor {name!r}") from None

    @property
    def files(self) -> tuple[Path, ...]:
        return tuple(sorted({file.path for file in self._files.values()}))

    def release(self) -> None:
        for file in set(self._files.values()):
            file.release()

    def _open_shards(self, index: Path) -> None:
        shards: dict[str, SafetensorsFile] = {}
        places = _read_object(index).get("weight_map")
        if not isinstance(places, dict):
            raise BadFile(index, "weight_map is missing or no object")
        for name, shard in places.items():
            if not isinstance(shard, str) or Path(shard).name != shard:
                raise BadFile(index, f"{name!r} lies in {shard!r}, which is no file beside it")
            if shard not in shards:
                shards[shard] = SafetensorsFile(self.path / shard)
            if name not in shards[shard].names():
                raise BadFile(index, f"{name!r} is not in {shard}, where it should be")
            self._files[name] = shards[shard]


def _read_object(path: Path) -> dict[str, Any]:
    try:
        value = json.loads(path.read_bytes())
    except OSError as error:
        raise BadFile(path, str(error.strerror)) from error
    except (ValueError, RecursionError) as error:
        raise BadFile(path, f"is not JSON: {error}") from error
    if not isinstance(value, dict):
        raise BadFile(path, "is not a JSON object")
    return value
