"""Tiny tokenizers, built here, that have every kind of token."""

import json
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import tokenizers
from tokenizers import decoders, models, pre_tokenizers

from vilfredo.text.budget import Budget
from vilfredo.text.load import load_tokenizer
from vilfredo.text.template import ChatTemplate
from vilfredo.text.tokenizer import ModelTokenizer

NORMAL, UNKNOWN, CONTROL, USER_DEFINED, UNUSED, BYTE = range(1, 7)
ALPHABET = sorted(pre_tokenizers.ByteLevel.alphabet())


@pytest.fixture
def checkpoint() -> Callable[..., Any]:
    """A checkpoint of this configuration, without weights."""

    def make(config: dict[str, Any], path: Path = Path("tiny.gguf"), kind: str = "gguf") -> Any:
        return SimpleNamespace(kind=kind, path=path, config=config)

    return make


def _metadata(model: str, tokens: list[tuple[str, int]], **more: Any) -> dict[str, Any]:
    names = [name for name, _ in tokens]
    values = {
        "model": model,
        "tokens": names,
        "token_type": np.array([kind for _, kind in tokens], np.int32),
        "bos_token_id": names.index("<s>"),
        "eos_token_id": names.index("<|end|>"),
        **more,
    }
    return {f"tokenizer.ggml.{key}": value for key, value in values.items()}


@pytest.fixture
def byte_metadata() -> dict[str, Any]:
    """All bytes, "he", "ll", "hell" and "hello", and one token of each other type."""
    merged = ["he", "ll", "hell", "hello", "Ġhello", "Ġh"]
    tokens = [
        *((name, NORMAL) for name in [*ALPHABET, *merged]),
        *((name, CONTROL) for name in ("<s>", "<|end|>", "<|start|>", "<|startle|>")),
        *(("<tool>", USER_DEFINED), ("<gap>", UNUSED), ("<unk>", UNKNOWN)),
    ]
    merges = ["h e", "l l", "he ll", "hell o", "Ġ hello"]
    return _metadata("gpt2", tokens, merges=merges, pre="gpt-2")


@pytest.fixture
def piece_metadata() -> dict[str, Any]:
    """SentencePiece: a few words with scores, all bytes, and one token of each other type."""
    words = ["▁", "a", "b", "c", "ab", "bc", "abc", "▁a", "▁ab", "é", "h", "i", "hi", "▁hi"]
    tokens = [
        *(("<unk>", UNKNOWN), ("<s>", CONTROL), ("<|end|>", CONTROL), ("<|start|>", CONTROL)),
        *((f"<0x{byte:02X}>", BYTE) for byte in range(256)),
        *((word, NORMAL) for word in words),
        *(("\n\n", USER_DEFINED), ("  ", USER_DEFINED), ("<gap>", UNUSED)),
    ]
    scores = np.arange(0, -len(tokens), -1, dtype=np.float32)
    return _metadata("llama", tokens, scores=scores)


@pytest.fixture
def byte_tokenizer(byte_metadata: dict[str, Any], checkpoint: Callable[..., Any]) -> ModelTokenizer:
    return load_tokenizer(checkpoint(byte_metadata))


@pytest.fixture
def piece_tokenizer(
    piece_metadata: dict[str, Any], checkpoint: Callable[..., Any]
) -> ModelTokenizer:
    return load_tokenizer(checkpoint(piece_metadata))


@pytest.fixture
def hub_directory(tmp_path: Path) -> Path:
    """A byte-level tokenizer.json with two special tokens and one that is not called so."""
    vocabulary = {letter: token for token, letter in enumerate(ALPHABET)} | {"he": 256}
    encoder = tokenizers.Tokenizer(models.BPE(vocabulary, [("h", "e")]))
    encoder.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    encoder.decoder = decoders.ByteLevel()
    encoder.add_special_tokens(["<s>", "</s>"])
    encoder.add_tokens(["<tool>", "<|fim|>"])
    encoder.save(str(tmp_path / "tokenizer.json"))
    write = {"bos_token": "<s>", "eos_token": {"content": "</s>"}, "pad_token": None}
    (tmp_path / "tokenizer_config.json").write_text(json.dumps(write))
    return tmp_path


@pytest.fixture
def make(byte_tokenizer: ModelTokenizer) -> Callable[[str], ChatTemplate]:
    """A chat template of this source, with a small budget."""

    def build(source: str) -> ChatTemplate:
        names = {"bos_token": "<s>"}
        return ChatTemplate(
            source,
            byte_tokenizer,
            names,
            "file",
            now=lambda: datetime(2024, 5, 6),
            budget=lambda: Budget(steps=1000, characters=100_000),
        )

    return build
