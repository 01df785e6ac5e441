"""The one shape of every checkpoint on disk: a configuration and named tensors."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, Protocol

from vilfredo.base.tensor import RawTensor


class Checkpoint(Protocol):
    """`kind` tells families which names and conventions hold: GGUF's or Hugging Face's.

    For "gguf", `config` is the metadata ("llama.block_count": 30, …; arrays are NumPy arrays or
    lists of str). For "hf", it is the parsed config.json.
    """

    @property
    def kind(self) -> Literal["gguf", "hf"]: ...

    @property
    def path(self) -> Path: ...

    @property
    def config(self) -> Mapping[str, Any]: ...

    @property
    def files(self) -> Sequence[Path]:
        """Those that hold the tensors, in an order that stays."""
        ...

    def names(self) -> frozenset[str]: ...

    def tensor(self, name: str) -> RawTensor:
        """Raises BadFile where the checkpoint has no such tensor."""
        ...

    def release(self) -> None:
        """Gives back the memory of what was read; it is read again when it is touched."""
        ...
