"""Every format against the gguf package, on random and on hostile bytes."""

import gguf
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vilfredo.base.quants import FORMATS, dequantize
from vilfredo.base.tensor import RawTensor

NAMES = list(FORMATS)
# Where each block keeps its float16 scales and minima.
HALVES = {
    "Q4_0": [0], "Q4_1": [0, 2], "Q5_0": [0], "Q5_1": [0, 2], "Q8_0": [0],
    "Q4_K": [0, 2], "Q5_K": [0, 2], "Q6_K": [208],
}  # fmt: skip
# 0, -0, the least and the greatest subnormal, the greatest number, infinity, a NaN.
EXTREMES = [0x0000, 0x8000, 0x0001, 0x03FF, 0x7BFF, 0xFBFF, 0x7C00, 0xFC00, 0x7E01]


def ours(name: str, blocks: np.ndarray) -> np.ndarray:
    form = FORMATS[name]
    shape = (len(blocks), form.elements)
    return dequantize(RawTensor("t", name, shape, blocks.reshape(-1)))


def oracle(name: str, blocks: np.ndarray) -> np.ndarray:
    kind = gguf.GGMLQuantizationType[name]
    if name == "F16":  # the package leaves these two to NumPy
        return blocks.reshape(len(blocks), -1).view(np.float16).astype(np.float32)
    with np.errstate(all="ignore"):
        return gguf.quants.dequantize(blocks, kind).astype(np.float32).reshape(len(blocks), -1)


def same(name: str, blocks: np.ndarray) -> None:
    """Equal to the last bit, but for which of the NaNs it is and the sign of a zero."""
    np.testing.assert_array_equal(ours(name, blocks), oracle(name, blocks), strict=True)


def random_blocks(name: str, seed: int, count: int = 64) -> np.ndarray:
    random = np.random.default_rng(seed)
    return random.integers(0, 256, (count, FORMATS[name].nbytes), dtype=np.uint8)


def test_sizes_and_type_numbers_are_those_of_the_format():
    for name, form in FORMATS.items():
        kind = gguf.GGMLQuantizationType[name]
        assert form.ggml_type == kind.value
        assert (form.elements, form.nbytes) == gguf.GGML_QUANT_SIZES[kind]


@pytest.mark.parametrize("name", NAMES)
def test_random_blocks(name):
    same(name, random_blocks(name, seed=1, count=512))


@pytest.mark.parametrize("name", HALVES)
def test_extreme_scales_are_what_their_bits_say(name):
    for first in EXTREMES:
        for second in EXTREMES:
            blocks = random_blocks(name, seed=first ^ second, count=2)
            for at, half in zip(HALVES[name], (first, second), strict=False):
                blocks[:, at : at + 2] = np.array([half], np.uint16).view(np.uint8)
            same(name, blocks)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("byte", [0x00, 0x7F, 0x80, 0xFF])
def test_blocks_of_one_byte(name, byte):
    same(name, np.full((2, FORMATS[name].nbytes), byte, np.uint8))


@given(st.sampled_from(NAMES), st.data())
def test_any_block(name, data):
    nbytes = FORMATS[name].nbytes
    same(
        name, np.frombuffer(data.draw(st.binary(min_size=nbytes, max_size=nbytes)), np.uint8)[None]
    )


@pytest.mark.parametrize("name", NAMES)
def test_the_shape_is_the_tensor_s_and_the_bytes_stay_as_they_are(name):
    form = FORMATS[name]
    blocks = random_blocks(name, seed=3, count=12)
    blocks.setflags(write=False)  # as memory-mapped ones are
    values = dequantize(RawTensor("t", name, (2, 3, 2 * form.elements), blocks.reshape(-1)))
    assert values.shape == (2, 3, 2 * form.elements)
    assert values.dtype == np.float32
    np.testing.assert_array_equal(values.reshape(12, -1), ours(name, blocks))
