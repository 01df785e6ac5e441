"""GGUF files as checkpoints: the header is read and checked once, tensors stay memory-mapped."""

import math
from pathlib import Path
from typing import Any, Literal

import numpy as np

from vilfredo.base.errors import BadFile, Unsupported
from vilfredo.base.quants import FORMATS
from vilfredo.base.tensor import RawTensor
from vilfredo.weights.gguf_header import TensorEntry, read_header
from vilfredo.weights.mapped import map_file, release

_BY_TYPE = {form.ggml_type: form for form in FORMATS.values()}


class GgufCheckpoint:
    kind: Literal["gguf"] = "gguf"

    def __init__(self, path: Path) -> None:
        """Raises BadFile for a file that lies or is cut short, Unsupported for what is not read."""
        self.path = path
        self.files = (path,)
        self._data = map_file(path)
        header = read_header(path, self._data)
        if header.metadata.get("split.count", 1) not in (0, 1):
            raise Unsupported(f"{path} is one of several files: join them with gguf-split --merge")
        self.config: dict[str, Any] = header.metadata
        self._tensors: dict[str, RawTensor] = {}
        end, last = 0, ""
        for entry in sorted(header.tensors, key=lambda entry: entry.offset):
            if entry.offset < end:
                raise BadFile(path, f"{entry.name!r} overlaps {last!r}", entry.byte)
            tensor = self._map(entry, header.data_start)
            end, last = entry.offset + tensor.data.nbytes, entry.name
            self._tensors[entry.name] = tensor

    def names(self) -> frozenset[str]:
        return frozenset(self._tensors)

    def tensor(self, name: str) -> RawTensor:
        try:
            return self._tensors[name]
        except KeyError:
            raise BadFile(self.path, f"has no tensor {name!r}") from None

    def release(self) -> None:
        release(self._data)

    def _map(self, entry: TensorEntry, data_start: int) -> RawTensor:
        form = _BY_TYPE.get(entry.ggml_type)
        if form is None:
            raise Unsupported(
                f"{self.path}: {entry.name!r} has the quantization type {entry.ggml_type}; "
                f"known are {', '.join(FORMATS)}"
            )
        if entry.shape[-1] % form.elements:
            raise BadFile(
                self.path,
                f"{entry.name!r} has rows of {entry.shape[-1]}, not whole blocks of {form.name}",
                entry.byte,
            )
        count = math.prod(entry.shape) // form.elements * form.nbytes
        start = data_start + entry.offset
        if start + count > len(self._data):
            raise BadFile(
                self.path,
                f"{entry.name!r} reaches to byte {start + count} of {len(self._data)}",
                entry.byte,
            )
        data = np.frombuffer(self._data, np.uint8, count, start)
        return RawTensor(entry.name, form.name, entry.shape, data)
