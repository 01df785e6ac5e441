import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import tokenizers
from tokenizers import decoders, models, normalizers, pre_tokenizers, processors

from vilfredo.base.errors import BadFile, Unsupported
from vilfredo.text.hub import build_from_directory
from vilfredo.text.tokenizer import ModelTokenizer

PIECES = ["<unk>", "<s>", "</s>", "<0x41>", "▁", "a", "b", "▁a", "ab"]


def names(tokenizer: ModelTokenizer, text: str, specials: bool = False) -> list[str]:
    return list(map(tokenizer.name, tokenizer.encode(text, specials)))


def settle(directory: Path, **settings: Any) -> ModelTokenizer:
    (directory / "tokenizer_config.json").write_text(json.dumps(settings))
    return build_from_directory(directory, {})


def save_pieces(directory: Path, **parts: Any) -> tokenizers.Tokenizer:
    """A tokenizer of SentencePiece's kind with these parts."""
    vocabulary = {name: token for token, name in enumerate(PIECES)}
    merges = [("▁", "a"), ("a", "b")]
    encoder = tokenizers.Tokenizer(models.BPE(vocabulary, merges, unk_token="<unk>"))
    for name, part in parts.items():
        setattr(encoder, name, part)
    encoder.add_special_tokens(["<unk>", "<s>", "</s>"])
    encoder.decoder = decoders.Sequence(
        [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse()]
    )
    encoder.save(str(directory / "tokenizer.json"))
    return encoder


def test_byte_level(hub_directory: Path) -> None:
    tokenizer = build_from_directory(hub_directory, {})
    assert names(tokenizer, "he <s><tool>") == ["he", "Ġ", "<", "s", ">", "<tool>"]
    assert names(tokenizer, "<s>he", specials=True) == ["<s>", "he"]
    assert tokenizer.decode(tokenizer.encode("<s>日本<tool>", specials=True)) == "日本<tool>"
    assert tokenizer.bos is None
    assert set(map(tokenizer.name, tokenizer.ends)) == {"</s>"}
    assert tokenizer.vocabulary == 261


def test_tokens_that_look_special_are(hub_directory: Path) -> None:
    tokenizer = build_from_directory(hub_directory, {})
    assert names(tokenizer, "<|fim|>") == [*"<|fim|>"]
    assert names(tokenizer, "<|fim|>", specials=True) == ["<|fim|>"]


def test_bos_as_the_settings_say_or_the_tokenizer_does(hub_directory: Path) -> None:
    assert settle(hub_directory).bos is None
    assert settle(hub_directory, bos_token="<s>", add_bos_token=False).bos is None
    wanted = settle(hub_directory, bos_token={"content": "<s>"}, add_bos_token=True)
    assert wanted.bos == 257
    path = str(hub_directory / "tokenizer.json")
    encoder = tokenizers.Tokenizer.from_file(path)
    encoder.post_processor = processors.TemplateProcessing("<s> $A", None, [("<s>", 257)])
    encoder.save(path)
    tokenizer = settle(hub_directory, bos_token="<s>")
    assert tokenizer.bos == 257
    assert names(tokenizer, "he") == ["he"]
    with pytest.raises(BadFile, match="has no token '<x>', the bos_token"):
        settle(hub_directory, bos_token="<x>", add_bos_token=True)


def test_special_tokens_that_merge_are_undone(hub_directory: Path) -> None:
    vocabulary = {"<": 0, "s": 1, ">": 2, "<s": 3, "<s>": 4}
    encoder = tokenizers.Tokenizer(models.BPE(vocabulary, [("<", "s"), ("<s", ">")]))
    encoder.decoder = decoders.ByteLevel()
    encoder.add_special_tokens(["<s>"])
    encoder.save(str(hub_directory / "tokenizer.json"))
    assert names(build_from_directory(hub_directory, {}), "<s>") == ["<", "s", ">"]


def test_metaspace_before_the_first_word_only(tmp_path: Path) -> None:
    first = pre_tokenizers.Metaspace(prepend_scheme="first", split=False)
    for part in (first, pre_tokenizers.Sequence([pre_tokenizers.Digits(), first])):
        whole = save_pieces(tmp_path, pre_tokenizer=part)
        tokenizer = build_from_directory(tmp_path, {})
        for text in ("a<s>a", "<s>a a", "ab", " a", ""):
            expected = whole.encode(text, add_special_tokens=False).ids
            assert tokenizer.encode(text, specials=True) == expected
        assert tokenizer.decode(tokenizer.encode("a b")) == "a b"


@pytest.mark.parametrize(
    "parts",
    [
        {"pre_tokenizer": pre_tokenizers.Metaspace(prepend_scheme="always")},
        {
            "normalizer": normalizers.Sequence(
                [normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")]
            )
        },
    ],
)
def test_a_space_before_every_stretch(tmp_path: Path, parts: dict[str, Any]) -> None:
    whole = save_pieces(tmp_path, **parts)
    tokenizer = build_from_directory(tmp_path, {})
    for text in ("a<s>a", "<s>a a", "ab", ""):
        expected = whole.encode(text, add_special_tokens=False).ids
        assert tokenizer.encode(text, specials=True) == expected
    assert tokenizer.decode(tokenizer.encode("a b")) == "a b"
    assert tokenizer.piece(PIECES.index("<0x41>")) == b"A"


def test_no_space_where_there_is_none(tmp_path: Path) -> None:
    save_pieces(tmp_path, normalizer=normalizers.Replace(" ", "▁"))
    tokenizer = build_from_directory(tmp_path, {})
    assert names(tokenizer, "a a") == ["a", "▁a"]
    assert tokenizer.decode(tokenizer.encode(" a")) == " a"


def test_a_byte_level_space(hub_directory: Path) -> None:
    path = str(hub_directory / "tokenizer.json")
    encoder = tokenizers.Tokenizer.from_file(path)
    encoder.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=True)
    encoder.save(path)
    tokenizer = build_from_directory(hub_directory, {})
    assert names(tokenizer, "a") == ["Ġ", "a"]
    assert tokenizer.decode(tokenizer.encode("a")) == "a"


def test_other_kinds_are_refused(tmp_path: Path) -> None:
    with pytest.raises(Unsupported, match=r"has no tokenizer\.json"):
        build_from_directory(tmp_path, {})
    encoder = tokenizers.Tokenizer(models.WordPiece({"a": 0}, unk_token="a"))
    encoder.save(str(tmp_path / "tokenizer.json"))
    with pytest.raises(Unsupported, match="only byte-level and SentencePiece"):
        build_from_directory(tmp_path, {})
    (tmp_path / "tokenizer.json").write_text("{")
    with pytest.raises(BadFile, match=r"tokenizer\.json: is no tokenizer"):
        build_from_directory(tmp_path, {})


def test_an_empty_vocabulary(tmp_path: Path, checkpoint: Callable[..., Any]) -> None:
    encoder = tokenizers.Tokenizer(models.BPE({}, []))
    encoder.decoder = decoders.ByteLevel()
    encoder.save(str(tmp_path / "tokenizer.json"))
    assert build_from_directory(tmp_path, {}).vocabulary == 0
