"""Fixtures that every test may use."""

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

from vilfredo.weights.catalog import CATALOG
from vilfredo.weights.store import ModelStore


@pytest.fixture(scope="session")
def model_path() -> Callable[[str], Path]:
    """The cached file of a catalog model; skips where it has not been pulled.

    VILFREDO_REQUIRE_MODELS=1 (as `make test` sets it) turns the skip into a failure for every
    model but the large one.
    """
    store = ModelStore.default()

    def find(name: str) -> Path:
        path = store.find(CATALOG[name])
        if path is not None:
            return path
        if os.environ.get("VILFREDO_REQUIRE_MODELS") and name != "qwen2.5-coder-1.5b":
            pytest.fail(f"{name} is not in the cache: run `vilfredo pull {name}`")
        pytest.skip(f"{name} is not in the cache")

    return find


@pytest.fixture(scope="session", autouse=True)
def packed_weights(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Packed weights are kept for as long as the tests run, and not among the user's."""
    folder = tmp_path_factory.mktemp("packed")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("VILFREDO_PACKED_CACHE", str(folder))
        yield
    shutil.rmtree(folder)


@pytest.fixture(scope="session")
def tiny_gguf(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A llama of two layers and random weights, with a tokenizer of bytes and a chat
    template: whatever needs a whole model, but not a good one, runs in milliseconds."""
    import gguf

    path = tmp_path_factory.mktemp("tiny") / "tiny.gguf"
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_context_length(256)
    writer.add_embedding_length(64)
    writer.add_block_count(2)
    writer.add_feed_forward_length(96)
    writer.add_head_count(4)
    writer.add_head_count_kv(2)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_rope_freq_base(10_000.0)
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = [byte for byte in range(256) if byte not in printable]
    letters = [*map(chr, printable), *(chr(0x100 + index) for index in range(len(others)))]
    tokens = [*letters, "<|end|>", "<|turn|>", "th"]
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("gpt-2")
    writer.add_token_list(tokens)
    writer.add_token_types([1] * 256 + [3, 3, 1])
    writer.add_token_merges(["t h"])
    writer.add_eos_token_id(256)
    writer.add_add_bos_token(False)
    writer.add_chat_template(
        "{% for m in messages %}<|turn|>{{ m.role }}:{{ m.content }}{% endfor %}<|turn|>"
    )
    random = np.random.default_rng(0)

    def tensor(name: str, *shape: int) -> None:
        values = random.standard_normal(shape).astype(np.float32)
        writer.add_tensor(name, 1 + values / 10 if len(shape) == 1 else values / 4)

    tensor("token_embd.weight", len(tokens), 64)
    tensor("output_norm.weight", 64)
    for layer in range(2):
        for name, *shape in (
            ("attn_norm", 64), ("attn_q", 64, 64), ("attn_k", 32, 64), ("attn_v", 32, 64),
            ("attn_output", 64, 64), ("ffn_norm", 64), ("ffn_gate", 96, 64), ("ffn_up", 96, 64),
            ("ffn_down", 64, 96),
        ):  # fmt: skip
            tensor(f"blk.{layer}.{name}.weight", *shape)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path
