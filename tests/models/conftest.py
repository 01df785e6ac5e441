"""Small models in both kinds of checkpoint, with random weights."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest

from vilfredo.base.errors import BadFile
from vilfredo.base.tensor import RawTensor
from vilfredo.models.families import read_spec
from vilfredo.models.names import names_of

WIDTH, HEADS, KV_HEADS, HEAD_DIM, HIDDEN, VOCABULARY, CONTEXT = 24, 4, 2, 8, 40, 50, 64
LAYERS = {"llama": 2, "qwen2": 2, "gemma3": 7}


@dataclass
class FakeCheckpoint:
    kind: Literal["gguf", "hf"]
    config: Mapping[str, Any]
    arrays: dict[str, np.ndarray] = field(default_factory=dict)
    path: Path = Path("fake")

    def names(self) -> frozenset[str]:
        return frozenset(self.arrays)

    def tensor(self, name: str) -> RawTensor:
        if name not in self.arrays:
            raise BadFile(self.path, f"has no tensor {name}")
        array = np.ascontiguousarray(self.arrays[name], np.float32)
        return RawTensor(name, "F32", array.shape, array.reshape(-1).view(np.uint8))


def gguf_config(family: str, **changed: Any) -> dict[str, Any]:
    config = {
        "block_count": LAYERS[family],
        "context_length": CONTEXT,
        "embedding_length": WIDTH,
        "feed_forward_length": HIDDEN,
        "attention.head_count": HEADS,
        "attention.head_count_kv": KV_HEADS,
        "attention.key_length": HEAD_DIM,
        "attention.layer_norm_rms_epsilon": 1e-5,
        "rope.freq_base": 500.0,
    }
    if family == "gemma3":
        config |= {"attention.sliding_window": 4}
    config |= changed
    named = {f"{family}.{key}": value for key, value in config.items() if value is not None}
    return {"general.architecture": family, **named}


def hf_config(family: str, **changed: Any) -> dict[str, Any]:
    architecture = {"llama": "Llama", "qwen2": "Qwen2", "gemma3": "Gemma3"}[family]
    config = {
        "architectures": [f"{architecture}ForCausalLM"],
        "num_hidden_layers": LAYERS[family],
        "max_position_embeddings": CONTEXT,
        "hidden_size": WIDTH,
        "intermediate_size": HIDDEN,
        "num_attention_heads": HEADS,
        "num_key_value_heads": KV_HEADS,
        "head_dim": HEAD_DIM,
        "vocab_size": VOCABULARY,
        "rms_norm_eps": 1e-5,
        "rope_theta": 500.0,
    }
    if family == "gemma3":
        config |= {"sliding_window": 4, "query_pre_attn_scalar": HEAD_DIM}
    return {key: value for key, value in (config | changed).items() if value is not None}


def shapes(spec) -> dict[str, tuple[int, ...]]:
    """What each name of a part stands for, in the spec's own naming."""
    wanted: dict[str, tuple[int, ...]] = {}
    queries, keys = HEADS * HEAD_DIM, KV_HEADS * HEAD_DIM
    parts = {
        "attention_norm": (WIDTH,),
        "query": (queries, WIDTH),
        "key": (keys, WIDTH),
        "value": (keys, WIDTH),
        "output": (WIDTH, queries),
        "feed_forward_norm": (WIDTH,),
        "gate": (HIDDEN, WIDTH),
        "up": (HIDDEN, WIDTH),
        "down": (WIDTH, HIDDEN),
    }
    bias = {"query_bias": (queries,), "key_bias": (keys,), "value_bias": (keys,)}
    qk_norm = {"query_norm": (HEAD_DIM,), "key_norm": (HEAD_DIM,)}
    post = {"post_attention_norm": (WIDTH,), "post_feed_forward_norm": (WIDTH,)}
    for number, layer in enumerate(spec.layers):
        names = names_of(spec, number)
        own = parts | (bias if layer.attention.bias else {})
        own |= (qk_norm if layer.attention.qk_norm else {}) | (post if layer.post_norms else {})
        wanted |= {names[part]: shape for part, shape in own.items()}
    names = names_of(spec, 0)
    wanted |= {names["embedding"]: (VOCABULARY, WIDTH), names["norm"]: (WIDTH,)}
    if not spec.tied_head:
        wanted[names["head"]] = (VOCABULARY, WIDTH)
    return wanted


def interleave(weight: np.ndarray, heads: int) -> np.ndarray:
    """The rows of q or k as the conversion of Llama to GGUF reorders them."""
    split = weight.reshape(heads, 2, HEAD_DIM // 2, -1)
    return split.swapaxes(1, 2).reshape(weight.shape)


@pytest.fixture
def describe():
    """A checkpoint with a configuration and, for GGUF, the embedding that states the vocabulary.

    `changed` replaces keys of the configuration; None leaves one out.
    """

    def make(kind: str, family: str, **changed: Any) -> FakeCheckpoint:
        if kind == "hf":
            return FakeCheckpoint("hf", hf_config(family, **changed))
        embedding = np.zeros((VOCABULARY, WIDTH), np.float32)
        config = gguf_config(family, **changed)
        return FakeCheckpoint("gguf", config, {"token_embd.weight": embedding})

    return make


@pytest.fixture
def twins(describe):
    """The same random model of a family, as GGUF and as Hugging Face."""

    def make(family: str, tied: bool = True) -> tuple[FakeCheckpoint, FakeCheckpoint]:
        rng = np.random.default_rng(7)
        hf, gguf = describe("hf", family, tie_word_embeddings=tied), describe("gguf", family)
        if not tied:
            gguf.arrays["output.weight"] = gguf.arrays["token_embd.weight"]
        hf_spec, gguf_spec = read_spec(hf), read_spec(gguf)
        wanted = shapes(hf_spec)
        for number in range(LAYERS[family]):
            gguf_names = names_of(gguf_spec, number)
            for part, name in names_of(hf_spec, number).items():
                if name not in wanted or name in hf.arrays:
                    continue
                array = (rng.standard_normal(wanted[name]) * 0.3).astype(np.float32)
                hf.arrays[name] = array
                if family == "llama" and part in ("query", "key"):
                    array = interleave(array, HEADS if part == "query" else KV_HEADS)
                if family == "gemma3" and part.endswith("norm"):
                    array = array + 1
                gguf.arrays[gguf_names[part]] = array
        return gguf, hf

    return make
