"""The decoder on small random models: how a step is cut never changes what it computes."""

from itertools import pairwise

import numpy as np
import pytest

from vilfredo.models.decoder import Decoder
from vilfredo.models.families import read_spec
from vilfredo.models.inputs import DecoderInputs
from vilfredo.models.weights import load
from vilfredo.ops.reference import ReferenceKernels
from vilfredo.ops.table import LayerCache, SpanBatch

FAMILIES = ("llama", "qwen2", "gemma3")
BLOCK, BLOCKS = 4, 24
KERNELS = ReferenceKernels()
TOKENS = np.random.default_rng(3).integers(0, 50, (3, 14)).astype(np.int32)
TOKENS[2] = TOKENS[0]
TOKENS[2, 0] += 1
TABLES = np.random.default_rng(4).permutation(BLOCKS).astype(np.int32).reshape(3, -1)


class Machine:
    """A decoder and its cache; steps are lists of (sequence, start, end)."""

    def __init__(self, checkpoint, observe=None):
        spec = read_spec(checkpoint)
        weights = load(spec, checkpoint, KERNELS)
        self.decoder = Decoder(spec, weights, KERNELS, TOKENS.size, TOKENS.size, observe)
        self.caches = [
            LayerCache(
                np.full((BLOCKS, a.kv_heads, a.head_dim, BLOCK), np.nan, np.float16),
                np.zeros((BLOCKS, a.kv_heads, BLOCK, a.head_dim), np.float16),
            )
            for a in (layer.attention for layer in spec.layers)
        ]

    def step(self, *spans, samples=None):
        positions = np.concatenate([np.arange(start, end) for _, start, end in spans])
        owners = np.concatenate([np.full(end - start, owner) for owner, start, end in spans])
        borders = np.cumsum([0] + [end - start for _, start, end in spans])
        every = np.arange(len(positions))
        inputs = DecoderInputs(
            TOKENS[owners, positions],
            positions.astype(np.int32),
            (TABLES[owners, positions // BLOCK] * BLOCK + positions % BLOCK).astype(np.int32),
            SpanBatch(
                borders.astype(np.int32),
                np.array([start for _, start, _ in spans], np.int32),
                TABLES[[owner for owner, _, _ in spans]],
            ),
            (every if samples is None else np.array(samples)).astype(np.int32),
        )
        return self.decoder.forward(inputs, self.caches).copy()


def close(got, wanted):
    np.testing.assert_allclose(got, wanted, atol=2e-4, rtol=1e-3)


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("tied", [True, False])
def test_both_kinds_of_checkpoint_give_one_model(family, tied, twins):
    gguf, hf = twins(family, tied)
    wanted = Machine(hf).step((0, 0, 14))
    close(Machine(gguf).step((0, 0, 14)), wanted)
    assert wanted.std() > 0.1


@pytest.mark.parametrize("family", FAMILIES)
def test_a_sequence_may_be_cut_anywhere(family, twins):
    gguf, _ = twins(family)
    wanted = Machine(gguf).step((0, 0, 14))
    pieces = Machine(gguf)
    borders = [0, 1, 2, 7, 8, 13, 14]
    got = [pieces.step((0, start, end)) for start, end in pairwise(borders)]
    close(np.concatenate(got), wanted)


@pytest.mark.parametrize("family", FAMILIES)
def test_sequences_of_one_step_do_not_see_each_other(family, twins):
    gguf, _ = twins(family)
    first, second = Machine(gguf).step((0, 0, 14)), Machine(gguf).step((1, 0, 9))
    together = Machine(gguf)
    together.step((1, 0, 4))
    got = together.step((0, 0, 14), (1, 4, 9))
    close(got[:14], first)
    close(got[14:], second[4:])


def test_only_sampling_rows_have_logits(twins):
    gguf, _ = twins("llama")
    wanted = Machine(gguf).step((0, 0, 14))
    close(Machine(gguf).step((0, 0, 14), samples=[3, 13]), wanted[[3, 13]])
    assert Machine(gguf).step((0, 0, 14), samples=[]).shape == (0, 50)


def test_a_window_hides_what_lies_before_it(twins, describe):
    """One layer with a window of 4: the first token, changed, matters to the first four alone."""
    gguf, _ = twins("gemma3")
    one = describe("gguf", "gemma3", block_count=1)
    one.arrays = {
        name: array
        for name, array in gguf.arrays.items()
        if name[:6] in ("blk.0.", "output", "token_")
    }
    machine = Machine(one)
    difference = np.abs(machine.step((0, 0, 14)) - machine.step((2, 0, 14))).max(axis=1)
    assert np.all(difference[:4] > 1e-3)
    assert np.all(difference[4:] < 1e-5)


def test_the_final_softcap_bounds_logits(twins):
    gguf, _ = twins("gemma3")
    plain = Machine(gguf).step((0, 0, 14))
    gguf.config = {**gguf.config, "gemma3.final_logit_softcapping": 0.5}
    capped = Machine(gguf).step((0, 0, 14))
    close(capped, 0.5 * np.tanh(plain / 0.5))


def test_an_observer_sees_every_half_layer(twins):
    gguf, _ = twins("llama")
    seen = {}
    logits = Machine(gguf, lambda name, array: seen.update({name: array.copy()})).step((0, 0, 5))
    halves = [f"layers.{n}.{half}" for n in range(2) for half in ("attention", "feed_forward")]
    assert list(seen) == ["embedding", *halves, "logits"]
    assert np.array_equal(seen["logits"], logits)
    assert np.array_equal(seen["embedding"], gguf.arrays["token_embd.weight"][TOKENS[0, :5]])
