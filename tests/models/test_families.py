"""Configurations of both kinds become specs; what they lack or cannot mean is named."""

import math
from contextlib import suppress

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from vilfredo.base.errors import BadFile, Unsupported, VilfredoError
from vilfredo.models.families import read_spec
from vilfredo.models.spec import Attention, FeedForward, Layer, Rope

KINDS = ("gguf", "hf")
FAMILIES = ("llama", "qwen2", "gemma3")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("family", ["llama", "qwen2"])
def test_plain_decoders(kind, family, describe):
    spec = read_spec(describe(kind, family))
    rope = Rope(500.0, 8, interleaved=(kind, family) == ("gguf", "llama"))
    attention = Attention(4, 2, 8, rope, 8**-0.5, bias=family == "qwen2")
    assert spec.layers == (Layer(attention, FeedForward(40, "silu")),) * 2
    assert (spec.family, spec.naming, spec.vocabulary, spec.width) == (family, kind, 50, 24)
    assert (spec.norm_eps, spec.context, spec.embed_scale, spec.norm_offset) == (1e-5, 64, 1, 0)
    assert spec.kv_bytes_per_token == 2 * 2 * 2 * 2 * 8  # layers, k and v, heads, dim, bytes


@pytest.mark.parametrize("kind", KINDS)
def test_gemma3(kind, describe):
    spec = read_spec(describe(kind, "gemma3"))
    assert [layer.attention.window for layer in spec.layers] == [4, 4, 4, 4, 4, 0, 4]
    near, far = spec.layers[0].attention, spec.layers[5].attention
    assert (near.rope, far.rope) == (Rope(10_000.0, 8), Rope(500.0, 8))
    assert all(layer.post_norms and layer.attention.qk_norm for layer in spec.layers)
    assert spec.layers[0].feed_forward == FeedForward(40, "gelu_tanh")
    assert (near.scale, spec.embed_scale) == (8**-0.5, math.sqrt(24))
    assert (spec.tied_head, spec.norm_offset) == (True, 0.0 if kind == "gguf" else 1.0)


@pytest.mark.parametrize("kind", KINDS)
def test_gemma3_global_theta_where_nothing_states_it(kind, describe):
    key = "rope.freq_base" if kind == "gguf" else "rope_theta"
    spec = read_spec(describe(kind, "gemma3", **{key: None}))
    assert spec.layers[5].attention.rope.theta == 1_000_000.0


def test_gemma3_scales_scores_by_what_its_configuration_says(describe):
    spec = read_spec(describe("hf", "gemma3", query_pre_attn_scalar=16))
    assert spec.layers[0].attention.scale == 0.25
    largest = read_spec(describe("gguf", "gemma3", block_count=62))
    assert largest.layers[0].attention.scale == (24 // 4) ** -0.5


def test_gemma3_layer_types(describe):
    kinds = ["full_attention", "sliding_attention"] * 3 + ["full_attention"]
    spec = read_spec(describe("hf", "gemma3", layer_types=kinds))
    assert [layer.attention.window for layer in spec.layers] == [0, 4, 0, 4, 0, 4, 0]
    with pytest.raises(BadFile, match="layer_types names 6 layers, not 7"):
        read_spec(describe("hf", "gemma3", layer_types=kinds[1:]))
    with pytest.raises(BadFile, match="layer_types has the unknown kind 'chunked'"):
        read_spec(describe("hf", "gemma3", layer_types=["chunked", *kinds[1:]]))


def test_gemma3_nested_rope_parameters(describe):
    nested = {
        "full_attention": {"rope_type": "linear", "factor": 8.0, "rope_theta": 2e6},
        "sliding_attention": {"rope_type": "default"},
    }
    spec = read_spec(describe("hf", "gemma3", rope_parameters=nested))
    assert spec.layers[5].attention.rope == Rope(2e6, 8, factors=(8.0,) * 4)
    assert spec.layers[0].attention.rope == Rope(10_000.0, 8)


def test_gemma3_scales_only_global_layers(describe):
    changed = {"rope.scaling.type": "linear", "rope.scaling.factor": 8.0}
    for spec in (
        read_spec(describe("gguf", "gemma3", **changed)),
        read_spec(describe("hf", "gemma3", rope_scaling={"type": "linear", "factor": 8.0})),
    ):
        assert spec.layers[5].attention.rope.factors == (8.0,) * 4
        assert spec.layers[0].attention.rope.factors == ()


@pytest.mark.parametrize("kind", KINDS)
def test_the_final_softcap_is_read(kind, describe):
    assert read_spec(describe(kind, "gemma3", final_logit_softcapping=30.0)).logit_softcap == 30


def test_heads_are_tied_where_there_is_no_other(describe):
    checkpoint = describe("gguf", "llama")
    assert read_spec(checkpoint).tied_head
    checkpoint.arrays["output.weight"] = checkpoint.arrays["token_embd.weight"]
    assert not read_spec(checkpoint).tied_head
    assert not read_spec(describe("hf", "llama")).tied_head
    assert read_spec(describe("hf", "llama", tie_word_embeddings=True)).tied_head


def test_sizes_that_follow_from_others(describe):
    spec = read_spec(describe("hf", "llama", head_dim=None, num_key_value_heads=None))
    attention = spec.layers[0].attention
    assert (attention.kv_heads, attention.head_dim) == (4, 6)


@pytest.mark.parametrize("kind", KINDS)
def test_an_unknown_architecture_is_named_with_the_known(kind, describe):
    checkpoint = describe(kind, "llama")
    key = "general.architecture" if kind == "gguf" else "architectures"
    checkpoint.config = {key: "mamba" if kind == "gguf" else ["MambaForCausalLM"]}
    with pytest.raises(Unsupported, match=r"[mM]amba.*; known are [lL]lama.*[qQ]wen2.*[gG]emma3"):
        read_spec(checkpoint)


@pytest.mark.parametrize(
    ("kind", "family", "changed", "message"),
    [
        ("hf", "llama", {"attention_bias": True}, "attention_bias = True"),
        ("hf", "llama", {"mlp_bias": True}, "mlp_bias = True"),
        ("hf", "llama", {"hidden_act": "relu"}, "hidden_act = 'relu'"),
        ("hf", "llama", {"quantization_config": {"bits": 4}}, "quantization_config"),
        ("hf", "llama", {"partial_rotary_factor": 0.5}, "partial_rotary_factor = 0.5"),
        ("hf", "llama", {"rope_scaling": {"type": "yarn"}}, "type 'yarn'"),
        ("hf", "qwen2", {"use_sliding_window": True}, "use_sliding_window = True"),
        ("hf", "gemma3", {"attn_logit_softcapping": 50.0}, "attn_logit_softcapping = 50"),
        ("hf", "gemma3", {"use_bidirectional_attention": True}, "use_bidirectional_attention"),
        ("gguf", "llama", {"expert_count": 8}, "llama.expert_count = 8"),
        ("gguf", "llama", {"expert_count": np.array([0, 8])}, r"llama.expert_count = array"),
        ("gguf", "llama", {"rope.scaling.type": "longrope"}, "type 'longrope'"),
        ("gguf", "llama", {"rope.dimension_count": 4}, "rope.dimension_count is 4"),
        ("gguf", "llama", {"attention.value_length": 16}, "attention.value_length is 16"),
    ],
)
def test_what_is_not_built_is_refused_by_name(kind, family, changed, message, describe):
    with pytest.raises(Unsupported, match=message):
        read_spec(describe(kind, family, **changed))


@pytest.mark.parametrize(
    ("kind", "changed", "message"),
    [
        ("gguf", {"block_count": None}, "llama.block_count is missing"),
        ("gguf", {"block_count": 1 << 40}, "llama.block_count must lie between 1 and 1024"),
        ("gguf", {"attention.head_count": 0}, "llama.attention.head_count must lie between"),
        ("gguf", {"attention.head_count_kv": 3}, "4 heads cannot share 3"),
        ("gguf", {"attention.key_length": 7}, "7 dimensions has no rotary pairs"),
        ("gguf", {"attention.layer_norm_rms_epsilon": math.nan}, "epsilon must be positive"),
        ("gguf", {"rope.freq_base": -1.0}, "llama.rope.freq_base must be positive"),
        ("hf", {"hidden_size": "wide"}, "hidden_size must be a whole number, not 'wide'"),
        ("hf", {"hidden_size": 24.0}, "hidden_size must be a whole number, not 24.0"),
        ("hf", {"vocab_size": None}, "vocab_size is missing"),
        ("hf", {"rope_theta": "large"}, "rope_theta must be a number, not 'large'"),
        ("hf", {"rope_theta": 10**400}, "rope_theta must be positive and below 1e"),
        ("hf", {"head_dim": None, "hidden_size": 25}, "head_dim is missing"),
        ("hf", {"tie_word_embeddings": 1}, "tie_word_embeddings must be true or false"),
        ("hf", {"rope_scaling": [1]}, r"rope_scaling must be an object, not \[1\]"),
        ("hf", {"rope_scaling": {"type": "linear"}}, "rope_scaling.factor is missing"),
        ("hf", {"rope_scaling": {"type": 3}}, "rope_scaling.type must be a string"),
        ("hf", {"architectures": "LlamaForCausalLM"}, "architectures must be a list of strings"),
    ],
)
def test_a_bad_value_is_named(kind, changed, message, describe):
    with pytest.raises(BadFile, match=message):
        read_spec(describe(kind, "llama", **changed))


def test_an_embedding_that_is_no_matrix(describe):
    checkpoint = describe("gguf", "llama")
    checkpoint.arrays["token_embd.weight"] = checkpoint.arrays["token_embd.weight"][0]
    with pytest.raises(BadFile, match=r"token_embd.weight has the shape \(24,\)"):
        read_spec(checkpoint)


ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner),
)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("family", FAMILIES)
@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_whatever_a_key_holds_a_spec_or_an_error_of_ours_comes_back(kind, family, describe, data):
    checkpoint = describe(kind, family, rope_scaling={"rope_type": "linear", "factor": 2.0})
    key = data.draw(st.sampled_from(sorted(checkpoint.config)))
    checkpoint.config = {**checkpoint.config, key: data.draw(ANYTHING)}
    with suppress(VilfredoError):
        assert read_spec(checkpoint).layers
