"""The weight formats of checkpoints: their sizes, and in NumPy what their bytes mean.

A quantized row is a run of blocks. Layouts follow the GGUF specification and ggml's block
structures; `dequantize` is the specification that packing and kernels are tested against.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vilfredo.base.tensor import RawTensor

Bytes = NDArray[np.uint8]
Codes = NDArray[np.integer[Any]]
F32 = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Format:
    name: str
    ggml_type: int
    elements: int  # of one block
    nbytes: int  # of one block
    values: Callable[[Bytes], F32]  # [blocks, nbytes] -> [blocks, elements]


def dequantize(tensor: RawTensor) -> F32:
    """The tensor's values as float32, in its shape."""
    form = FORMATS[tensor.format]
    blocks = np.ascontiguousarray(tensor.data).reshape(-1, form.nbytes)
    with np.errstate(invalid="ignore", over="ignore"):  # hostile scales: NaN and inf as they come
        return form.values(blocks).reshape(tensor.shape)


def _half(blocks: Bytes, at: int) -> F32:  # [blocks, 1]
    return np.ascontiguousarray(blocks[:, at : at + 2]).view(np.float16).astype(np.float32)


def _nibbles(packed: Bytes) -> Codes:
    """All low nibbles of the last axis, then all high ones."""
    return np.concatenate([packed & 15, packed >> 4], axis=-1)


def _fifth_bits(packed: Bytes) -> Bytes:  # [blocks, 4] -> [blocks, 32] of 0 or 16
    return np.unpackbits(packed, axis=-1, bitorder="little") * np.uint8(16)


def _f32(blocks: Bytes) -> F32:
    return blocks.view(np.float32)


def _f16(blocks: Bytes) -> F32:
    return blocks.view(np.float16).astype(np.float32)


def _bf16(blocks: Bytes) -> F32:
    return (blocks.view(np.uint16).astype(np.uint32) << 16).view(np.float32)


def _q4_0(blocks: Bytes) -> F32:
    return _half(blocks, 0) * (_nibbles(blocks[:, 2:]).astype(np.float32) - 8)


def _q4_1(blocks: Bytes) -> F32:
    return _half(blocks, 0) * _nibbles(blocks[:, 4:]) + _half(blocks, 2)


def _q5_0(blocks: Bytes) -> F32:
    codes = _nibbles(blocks[:, 6:]) | _fifth_bits(blocks[:, 2:6])
    return _half(blocks, 0) * (codes.astype(np.float32) - 16)


def _q5_1(blocks: Bytes) -> F32:
    codes = _nibbles(blocks[:, 8:]) | _fifth_bits(blocks[:, 4:8])
    return _half(blocks, 0) * codes + _half(blocks, 2)


def _q8_0(blocks: Bytes) -> F32:
    return _half(blocks, 0) * blocks[:, 2:].view(np.int8)


def _k_scales(blocks: Bytes) -> tuple[F32, F32]:
    """Scales and minima of the 8 groups of a Q4_K or Q5_K block, [blocks, 8, 1] each.

    Six bits each in 12 bytes: those of the first four groups in the low bits of bytes 0 to 3 and
    4 to 7; of the last four, the low nibbles share bytes 8 to 11 and the high two bits lie on top
    of the first eight bytes.
    """
    low, high, mixed = blocks[:, 4:8], blocks[:, 8:12], blocks[:, 12:16]
    scales = np.concatenate([low & 63, mixed & 15 | low >> 6 << 4], axis=-1)
    minima = np.concatenate([high & 63, mixed >> 4 | high >> 6 << 4], axis=-1)
    return (
        (_half(blocks, 0) * scales)[:, :, None],
        (_half(blocks, 2) * minima)[:, :, None],
    )


def _paired_nibbles(packed: Bytes) -> Codes:
    """Groups 2i and 2i + 1 are the low and high nibbles of 32 bytes: [blocks, 8, 32]."""
    pairs = packed.reshape(-1, 4, 1, 32)
    return np.concatenate([pairs & 15, pairs >> 4], axis=2).reshape(-1, 8, 32)


def _q4_k(blocks: Bytes) -> F32:
    scales, minima = _k_scales(blocks)
    return (scales * _paired_nibbles(blocks[:, 16:]) - minima).reshape(-1, 256)


def _q5_k(blocks: Bytes) -> F32:
    scales, minima = _k_scales(blocks)
    fifth = blocks[:, None, 16:48] >> np.arange(8, dtype=np.uint8)[:, None] & 1
    codes = _paired_nibbles(blocks[:, 48:]) | fifth << 4
    return (scales * codes - minima).reshape(-1, 256)


def _q6_k(blocks: Bytes) -> F32:
    """Two halves of 128, each of four groups of 32: the low nibbles of 64 bytes, then their high
    ones; the top two bits of all four share 32 bytes. A signed scale for every 16."""
    low = _nibbles(blocks[:, :128].reshape(-1, 2, 64)).reshape(-1, 2, 4, 32)
    shifts = np.arange(0, 8, 2, dtype=np.uint8)[:, None]
    high = blocks[:, 128:192].reshape(-1, 2, 1, 32) >> shifts & 3
    codes = (low | high << 4).reshape(-1, 16, 16).astype(np.float32) - 32
    scales = _half(blocks, 208) * blocks[:, 192:208].view(np.int8)
    return (scales[:, :, None] * codes).reshape(-1, 256)


FORMATS: Mapping[str, Format] = {
    form.name: form
    for form in (
        Format("F32", 0, 1, 4, _f32),
        Format("F16", 1, 1, 2, _f16),
        Format("Q4_0", 2, 32, 18, _q4_0),
        Format("Q4_1", 3, 32, 20, _q4_1),
        Format("Q5_0", 6, 32, 22, _q5_0),
        Format("Q5_1", 7, 32, 24, _q5_1),
        Format("Q8_0", 8, 32, 34, _q8_0),
        Format("Q4_K", 12, 256, 144, _q4_k),
        Format("Q5_K", 13, 256, 176, _q5_k),
        Format("Q6_K", 14, 256, 210, _q6_k),
        Format("BF16", 30, 1, 2, _bf16),
    )
}
