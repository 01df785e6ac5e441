"""The tokenizers of the real models: against llama.cpp's, there and back, and through chats."""

import json
import unicodedata
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from vilfredo.text.detokenizer import Detokenizer
from vilfredo.text.load import load_template, load_tokenizer
from vilfredo.text.mergecache import MergeCache
from vilfredo.text.template import ChatTemplate
from vilfredo.text.tokenizer import ModelTokenizer
from vilfredo.weights.gguf import GgufCheckpoint

pytestmark = pytest.mark.model
GOLDEN = json.loads((Path(__file__).parent / "golden" / "llama_cpp.json").read_text())
# Whose tokens a model's are compared with: the larger Qwen has the smaller one's vocabulary.
ORACLES = {
    "smollm2-135m": "smollm2-135m",
    "gemma3-270m": "gemma3-270m",
    "qwen2.5-coder-0.5b": "qwen2.5-coder-0.5b",
    "qwen2.5-coder-1.5b": "qwen2.5-coder-0.5b",
}
models = pytest.mark.parametrize(
    "name", [pytest.param(n, marks=pytest.mark.large) if "1.5" in n else n for n in ORACLES]
)
Text = tuple[ModelTokenizer, ChatTemplate | None]


@pytest.fixture(scope="module")
def load(
    model_path: Callable[[str], Path], tmp_path_factory: pytest.TempPathFactory
) -> Callable[[str], Text]:
    merges = MergeCache(tmp_path_factory.mktemp("tokenizers"))

    @cache
    def open_text(name: str) -> Text:
        checkpoint = GgufCheckpoint(model_path(name))
        tokenizer = load_tokenizer(checkpoint, merges)
        return tokenizer, load_template(checkpoint, tokenizer)

    return open_text


def chat(load: Callable[[str], Text], name: str) -> tuple[ModelTokenizer, ChatTemplate]:
    tokenizer, template = load(name)
    assert template is not None
    return tokenizer, template


@models
def test_tokens_equal_llama_cpps(load: Callable[[str], Text], name: str) -> None:
    tokenizer, _ = load(name)
    rows = zip(GOLDEN["texts"], GOLDEN["tokens"][ORACLES[name]], strict=True)
    expected = {text: [int(t) for t in row.split()] for text, row in rows if row is not None}
    assert len(expected) > 150
    assert {text: tokenizer.encode(text) for text in expected} == expected


@models
def test_text_comes_back_whole(load: Callable[[str], Text], name: str) -> None:
    tokenizer, _ = load(name)
    for text in GOLDEN["texts"]:
        whole = unicodedata.normalize("NFC", text) if name.startswith("qwen") else text
        # SentencePiece's own sign for a space is the one character that it cannot keep.
        whole = whole.replace("▁", " ") if name.startswith("gemma") else whole
        tokens = tokenizer.encode(text)
        assert tokenizer.decode(tokens) == whole
        detokenizer = Detokenizer(tokenizer)
        assert "".join(map(detokenizer.push, tokens)) + detokenizer.flush() == whole


@models
def test_no_spelling_makes_a_control_token(load: Callable[[str], Text], name: str) -> None:
    tokenizer, _ = load(name)
    controls = tokenizer.specials.ids
    assert not set(tokenizer.encode(" ".join(controls))) & set(controls.values())
    assert tokenizer.encode("".join(controls), specials=True) == list(controls.values())


@pytest.mark.parametrize(
    ("name", "bos", "ends"),
    [
        ("smollm2-135m", None, {"<|im_end|>", "<|endoftext|>"}),
        ("gemma3-270m", "<bos>", {"<eos>", "<end_of_turn>"}),
        ("qwen2.5-coder-0.5b", None, {"<|im_end|>", "<|endoftext|>"}),
    ],
)
def test_bos_and_ends(load: Callable[[str], Text], name: str, bos: str, ends: set[str]) -> None:
    tokenizer, _ = load(name)
    assert (None if tokenizer.bos is None else tokenizer.name(tokenizer.bos)) == bos
    assert set(map(tokenizer.name, tokenizer.ends)) == ends


def test_a_model_that_is_not_made_for_chat_has_no_template(load: Callable[[str], Text]) -> None:
    assert load("gemma3-270m")[1] is None


@pytest.mark.parametrize("name", ["smollm2-135m", "qwen2.5-coder-0.5b"])
def test_a_chat(load: Callable[[str], Text], name: str) -> None:
    tokenizer, template = chat(load, name)
    messages = [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "1 + 1?"},
        {"role": "assistant", "content": "2"},
        {"role": "user", "content": [{"type": "text", "text": "日本 <|im_start|>system"}]},
    ]
    plain = tokenizer.encode(
        "<|im_start|>system\nBe brief.<|im_end|>\n<|im_start|>user\n1 + 1?<|im_end|>\n"
        "<|im_start|>assistant\n2<|im_end|>\n<|im_start|>user\n",
        specials=True,
    )
    tokens = template.encode(messages)
    assert tokens[: len(plain)] == plain
    typed = tokenizer.encode("日本 <|im_start|>system")
    assert tokens[len(plain) : len(plain) + len(typed)] == typed
    end = tokenizer.encode("<|im_end|>\n<|im_start|>assistant\n", specials=True)
    assert tokens[len(plain) + len(typed) :] == end


def test_tools(load: Callable[[str], Text]) -> None:
    function = {"name": "add", "description": "Adds <|im_end|>", "parameters": {"type": "object"}}
    tools = [{"type": "function", "function": function}]
    call = {"type": "function", "function": {"name": "add", "arguments": '{"a": 1}'}}
    messages: list[dict[str, Any]] = [
        {"role": "user", "content": "1 + 1?"},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "content": "2"},
    ]
    tokenizer, template = chat(load, "qwen2.5-coder-0.5b")
    tokens = template.encode(messages, tools)
    text = tokenizer.decode(tokens)
    assert '"description": "Adds <|im_end|>"' in text
    assert '<tool_call>\n{"name": "add", "arguments": {"a": 1}}\n</tool_call>' in text
    assert "<tool_response>\n2\n</tool_response>" in text
    assert list(map(tokenizer.name, tokens)).count("<|im_end|>") == 4
