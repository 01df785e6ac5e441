import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from vilfredo.base.errors import BadFile, Unsupported
from vilfredo.text.load import load_template, load_tokenizer
from vilfredo.text.tokenizer import ModelTokenizer

Make = Callable[..., Any]
HELLO = [{"role": "user", "content": "hello"}]


def test_the_kind_of_tokenizer(checkpoint: Make, byte_metadata: dict[str, Any]) -> None:
    key = "tokenizer.ggml.model"
    with pytest.raises(Unsupported, match="of the kind 'bert' are not"):
        load_tokenizer(checkpoint(byte_metadata | {key: "bert"}))
    with pytest.raises(BadFile, match=r"tokenizer\.ggml\.model is missing"):
        load_tokenizer(checkpoint({}))


def test_template_of_gguf(
    checkpoint: Make, byte_metadata: dict[str, Any], byte_tokenizer: ModelTokenizer
) -> None:
    def encode(source: Any) -> list[str] | None:
        config = byte_metadata | {"tokenizer.chat_template": source}
        template = load_template(checkpoint(config), byte_tokenizer)
        return template and list(map(byte_tokenizer.name, template.encode(HELLO)))

    assert encode(None) is None
    source = "{{ bos_token }}{{ messages[0].content }}{{ eos_token }}{{ pad_token }}"
    assert encode(source) == ["<s>", "hello", "<|end|>"]
    with pytest.raises(BadFile, match="chat_template is no string"):
        encode(7)
    with pytest.raises(BadFile, match=r"tiny\.gguf: the chat template does not compile"):
        encode("{{")


@pytest.mark.parametrize("inside", [False, True])
def test_directory(checkpoint: Make, hub_directory: Path, inside: bool) -> None:
    path = hub_directory / "config.json" if inside else hub_directory
    source = checkpoint({"eos_token_id": 0}, path, "hf")
    tokenizer = load_tokenizer(source)
    assert tokenizer.ends == {0, 258}
    assert load_template(source, tokenizer) is None
    settings = {"chat_template": "{{ bos_token }}{{ messages[0].content }}", "bos_token": "<s>"}
    (hub_directory / "tokenizer_config.json").write_text(json.dumps(settings))
    template = load_template(source, tokenizer)
    assert template is not None
    assert list(map(tokenizer.name, template.encode(HELLO))) == ["<s>", "he", "l", "l", "o"]
