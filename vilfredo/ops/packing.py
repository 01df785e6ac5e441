"""The native tables' packing: matrices in the tables' own memory, or in a caller's."""

from typing import Any

import numpy as np

from vilfredo.base.errors import Unsupported
from vilfredo.base.tensor import RawTensor
from vilfredo.ops.table import U8, Packed


class NativePacking:
    def __init__(self, native: Any, version: str) -> None:
        self._native = native
        self.layout: str = native.layout
        self.version = version

    def size(self, tensor: RawTensor) -> int:
        return self._native.packed_bytes(tensor.format, *_shape(tensor))

    def pack(self, tensor: RawTensor, memory: U8) -> float:
        return self._pack(tensor, memory).gain

    def pack_alone(self, tensor: RawTensor) -> Packed:
        """In memory of its own."""
        return self._pack(tensor, None)

    def open(self, tensor: RawTensor, gain: float, memory: U8) -> Packed:
        return self._native.open(tensor.format, *_shape(tensor), gain, memory)

    def _pack(self, tensor: RawTensor, memory: U8 | None) -> Any:
        shape = _shape(tensor)
        return self._native.pack(tensor.format, np.ascontiguousarray(tensor.data), *shape, memory)


def _shape(tensor: RawTensor) -> tuple[int, ...]:
    if len(tensor.shape) != 2:
        raise Unsupported(f"{tensor.name}: a matrix is wanted, not the shape {tensor.shape}")
    return tensor.shape
