from collections.abc import Callable
from typing import Any

import pytest

from vilfredo.base.errors import BadFile, Unsupported
from vilfredo.text.bytelevel import spell_letters
from vilfredo.text.load import load_tokenizer


def load(checkpoint: Callable[..., Any], metadata: dict[str, Any], **changes: Any) -> Any:
    changed = metadata | {f"tokenizer.ggml.{key}": value for key, value in changes.items()}
    return load_tokenizer(checkpoint({k: v for k, v in changed.items() if v is not None}))


def names(tokenizer: Any, text: str) -> list[str]:
    return list(map(tokenizer.name, tokenizer.encode(text)))


def test_merges_by_rank(checkpoint: Callable[..., Any], byte_metadata: dict[str, Any]) -> None:
    tokenizer = load(checkpoint, byte_metadata)
    assert names(tokenizer, "hello hello") == ["hello", "Ġhello"]
    # "Ġh" is a token, but no merge makes it.
    assert names(tokenizer, "a<tool> h<gap>") == ["a", "<tool>", "Ġ", "h", *"<gap>"]
    assert names(tokenizer, "12") == ["1", "2"]


def test_whole_words_where_the_model_has_them(
    checkpoint: Callable[..., Any], byte_metadata: dict[str, Any]
) -> None:
    assert names(load(checkpoint, byte_metadata, pre="llama-bpe"), " h") == ["Ġh"]


def test_composes_characters_where_the_model_does(
    checkpoint: Callable[..., Any], byte_metadata: dict[str, Any]
) -> None:
    apart, together = "e\u0301", "\u00e9"
    qwen = load(checkpoint, byte_metadata, pre="qwen2")
    assert qwen.encode(apart) == qwen.encode(together)
    llama = load(checkpoint, byte_metadata, pre="llama3")
    assert llama.decode(llama.encode(apart)) == apart


def test_bos_where_the_file_or_the_kind_wants_it(
    checkpoint: Callable[..., Any], byte_metadata: dict[str, Any]
) -> None:
    bos = byte_metadata["tokenizer.ggml.bos_token_id"]
    assert load(checkpoint, byte_metadata).bos is None
    assert load(checkpoint, byte_metadata, add_bos_token=True).bos == bos
    assert load(checkpoint, byte_metadata, pre="llama3").bos == bos
    assert load(checkpoint, byte_metadata, pre="llama3", add_bos_token=False).bos is None


def test_pieces(checkpoint: Callable[..., Any], byte_metadata: dict[str, Any]) -> None:
    tokenizer = load(checkpoint, byte_metadata)
    by_name = {tokenizer.name(token): token for token in range(tokenizer.vocabulary)}
    spelled = ("Ġhello", "ã", "Ċ", "<tool>", "<s>", "<gap>", "<unk>")
    assert [tokenizer.piece(by_name[name]) for name in spelled] == [
        *(b" hello", b"\xe3", b"\n", b"<tool>", b"", b"", b"")
    ]
    assert spell_letters("日") == "日".encode()


@pytest.mark.parametrize(
    ("changes", "error", "complaint"),
    [
        ({"pre": "martian"}, Unsupported, "'martian' is not known; known: default, gpt-2"),
        ({"pre": 7}, BadFile, "pre must be a string, not 7"),
        ({"merges": None}, BadFile, "merges is missing"),
        ({"merges": ["h e", "zz top"]}, BadFile, "'zz top' joins or makes no ordinary token"),
        ({"merges": ["he"]}, BadFile, "'he' joins or makes no"),
        ({"merges": ["h x"]}, BadFile, "'h x' joins or makes no"),
        ({"merges": ["< s>"]}, BadFile, "'< s>' joins or makes no"),
        ({"merges": [3]}, BadFile, "merges is missing or no list of strings"),
        ({"add_space_prefix": True}, Unsupported, "space before every text"),
    ],
)
def test_broken_metadata_is_named(
    checkpoint: Callable[..., Any],
    byte_metadata: dict[str, Any],
    changes: dict[str, Any],
    error: type[Exception],
    complaint: str,
) -> None:
    with pytest.raises(error, match=complaint):
        load(checkpoint, byte_metadata, **changes)
