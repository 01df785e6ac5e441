"""Loading: shapes are checked, nothing is missing, and nothing is silently left out."""

import numpy as np
import pytest

from vilfredo.base.errors import BadFile, Unsupported
from vilfredo.models.families import read_spec
from vilfredo.models.weights import load
from vilfredo.ops.reference import ReferenceKernels

KERNELS = ReferenceKernels()


@pytest.mark.parametrize("kind", [0, 1])
def test_a_tied_head_is_the_embedding_itself(kind, twins):
    checkpoint = twins("qwen2")[kind]
    weights = load(read_spec(checkpoint), checkpoint, KERNELS)
    assert weights.head is weights.embedding
    free = twins("qwen2", tied=False)[kind]
    weights = load(read_spec(free), free, KERNELS)
    assert weights.head is not weights.embedding


def test_norms_take_the_offset_and_biases_do_not(twins):
    _, hf = twins("gemma3")
    weights = load(read_spec(hf), hf, KERNELS)
    assert np.array_equal(weights.norm, hf.arrays["model.norm.weight"] + 1)
    _, hf = twins("qwen2")
    first = load(read_spec(hf), hf, KERNELS).layers[0]
    assert np.array_equal(first.key_bias, hf.arrays["model.layers.0.self_attn.k_proj.bias"])
    assert first.query_norm is first.post_attention_norm is None


def test_a_missing_tensor_is_named(twins):
    gguf, _ = twins("llama")
    del gguf.arrays["blk.1.ffn_up.weight"]
    with pytest.raises(BadFile, match=r"has no tensor blk.1.ffn_up.weight"):
        load(read_spec(gguf), gguf, KERNELS)


def test_a_wrong_shape_is_named_with_both(twins):
    _, hf = twins("llama")
    name = "model.layers.1.mlp.down_proj.weight"
    hf.arrays[name] = hf.arrays[name].T
    with pytest.raises(BadFile, match=rf"{name} has the shape \(40, 24\).* asks for \(24, 40\)"):
        load(read_spec(hf), hf, KERNELS)


def test_a_tensor_without_a_place_is_refused(twins):
    gguf, _ = twins("llama")
    gguf.arrays["blk.0.attn_q.bias"] = np.zeros(32, np.float32)
    with pytest.raises(Unsupported, match=r"llama family has no place for blk.0.attn_q.bias \(1"):
        load(read_spec(gguf), gguf, KERNELS)


def test_what_the_configuration_already_says_may_lie_beside_it(twins):
    _, hf = twins("llama")
    hf.arrays["model.layers.0.self_attn.rotary_emb.inv_freq"] = np.zeros(4, np.float32)
    hf.arrays["lm_head.weight"] = hf.arrays["model.embed_tokens.weight"]
    weights = load(read_spec(hf), hf, KERNELS)
    assert weights.head is weights.embedding
