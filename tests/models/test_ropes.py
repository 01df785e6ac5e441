"""Rope scaling, as factors; Llama 3's against the rule as its authors wrote it."""

import math

import numpy as np
import pytest

from vilfredo.base.errors import BadFile
from vilfredo.models.families import read_spec
from vilfredo.models.rotations import Rotations
from vilfredo.models.spec import Rope

LLAMA3 = {
    "factor": 8.0,
    "low_freq_factor": 1.0,
    "high_freq_factor": 4.0,
    "original_max_position_embeddings": 256,
}


def llama3_frequency(frequency: float) -> float:
    """apply_scaling of Llama 3.1's reference code, for one frequency."""
    wave = 2 * math.pi / frequency
    if wave < 256 / 4:
        return frequency
    if wave > 256 / 1:
        return frequency / 8
    smooth = (256 / wave - 1) / (4 - 1)
    return (1 - smooth) * frequency / 8 + smooth * frequency


@pytest.mark.parametrize("key", ["rope_scaling", "rope_parameters"])
def test_llama3(key, describe):
    rope = {"rope_type": "llama3", **LLAMA3}
    spec = read_spec(describe("hf", "llama", head_dim=64, **{key: rope}))
    factors = spec.layers[0].attention.rope.factors
    plain = [500.0 ** (-2 * pair / 64) for pair in range(32)]
    scaled = [frequency / factor for frequency, factor in zip(plain, factors, strict=True)]
    assert scaled == pytest.approx([llama3_frequency(frequency) for frequency in plain])
    assert (factors[0], factors[-1]) == (1, 8)
    assert any(1 < factor < 8 for factor in factors)


def test_llama3_with_borders_the_wrong_way_round(describe):
    rope = {"rope_type": "llama3", **LLAMA3, "high_freq_factor": 1.0}
    with pytest.raises(BadFile, match=r"rope_scaling\.high_freq_factor must be above"):
        read_spec(describe("hf", "llama", rope_scaling=rope))


def test_theta_within_the_parameters_wins(describe):
    parameters = {"rope_type": "default", "rope_theta": 7.0}
    spec = read_spec(describe("hf", "llama", rope_parameters=parameters))
    assert spec.layers[0].attention.rope == Rope(7.0, 8)


def test_gguf_carries_factors_as_a_tensor(describe):
    checkpoint = describe("gguf", "llama")
    checkpoint.arrays["rope_freqs.weight"] = np.array([1, 1, 2, 8], np.float32)
    assert read_spec(checkpoint).layers[0].attention.rope.factors == (1, 1, 2, 8)
    for bad in ([1, 1, 2], [1, 1, 2, 0], [1, 1, 2, math.nan]):
        checkpoint.arrays["rope_freqs.weight"] = np.array(bad, np.float32)
        with pytest.raises(BadFile, match=r"rope_freqs.weight must hold 4 positive numbers"):
            read_spec(checkpoint)


def test_rotations_are_exact_far_out():
    rope, scaled = Rope(1e6, 8), Rope(1e6, 8, factors=(1.0, 2.0, 4.0, 8.0))
    positions = np.array([0, 3, 1_000_000], np.int32)
    turns = Rotations([rope, scaled, rope]).at(positions)
    assert set(turns) == {rope, scaled}
    for key, (cos, sin) in turns.items():
        for row, pair in np.ndindex(3, 4):
            factor = key.factors[pair] if key.factors else 1.0
            angle = int(positions[row]) * 1e6 ** (-2 * pair / 8) / factor
            assert cos[row, pair] == pytest.approx(math.cos(angle), abs=1e-6)
            assert sin[row, pair] == pytest.approx(math.sin(angle), abs=1e-6)
