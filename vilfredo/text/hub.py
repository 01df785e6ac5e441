"""The tokenizer and chat template of a Hugging Face directory: tokenizer.json and its neighbors."""

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import tokenizers
from tokenizers import pre_tokenizers

from vilfredo.base.errors import BadFile, Unsupported
from vilfredo.text.bytelevel import spell_letters
from vilfredo.text.ends import END_SPELLINGS
from vilfredo.text.hubfiles import SETTINGS, find_ends, read_json, spellings
from vilfredo.text.sentencepiece import spell_piece
from vilfredo.text.tokenizer import ModelTokenizer, SpacePrefix, Vocabulary

# Tokens of this look steer a model even where their file forgets to call them special.
_STEERING = re.compile(r"<\|.*\|>|<\uff5c.*\uff5c>")


def build_from_directory(directory: Path, config: Mapping[str, Any]) -> ModelTokenizer:
    path = directory / "tokenizer.json"
    if not path.is_file():
        raise Unsupported(f"{directory} has no tokenizer.json")
    try:
        encoder = tokenizers.Tokenizer.from_file(str(path))
    except Exception as error:  # the library raises nothing narrower
        raise BadFile(path, f"is no tokenizer: {error}") from error
    kinds = set(_kinds(_state(encoder.decoder)))
    if not kinds & {"ByteLevel", "ByteFallback", "Metaspace"}:
        raise Unsupported(f"{path}: only byte-level and SentencePiece tokenizers are supported")
    ids = encoder.get_vocab(with_added_tokens=True)
    names = [""] * (max(ids.values(), default=-1) + 1)
    for name, token in ids.items():
        names[token] = name
    added = encoder.get_added_tokens_decoder()
    controls = {
        token.content: number
        for number, token in added.items()
        if token.special or _STEERING.fullmatch(token.content)
    }
    encoder.add_special_tokens([tokenizers.AddedToken(name, special=True) for name in controls])
    encoder.encode_special_tokens = True  # that is: as the ordinary text that they are spelled in
    encoder.no_truncation()
    encoder.no_padding()
    vocabulary = Vocabulary(
        names=names,
        controls=controls,
        silent=frozenset(controls.values()),
        literal=frozenset(added),
        spell=spell_letters if "ByteLevel" in kinds else spell_piece,
    )
    bos = _find_bos(path, encoder, read_json(directory / SETTINGS), ids)
    ends = find_ends(directory, config, ids)
    ends.update(token for name, token in controls.items() if name in END_SPELLINGS)
    return ModelTokenizer(encoder, vocabulary, bos, frozenset(ends), _take_over_prefix(encoder))


def _state(part: Any) -> Any:
    """A part of a tokenizer as the JSON that it was read from."""
    return json.loads(part.__getstate__()) if part is not None else None


def _kinds(state: Any) -> Iterator[str]:
    """The types of a part and of all parts within it."""
    if isinstance(state, dict):
        if isinstance(state.get("type"), str):
            yield state["type"]
        state = list(state.values())
    if isinstance(state, list):
        for inner in state:
            yield from _kinds(inner)


def _take_over_prefix(encoder: tokenizers.Tokenizer) -> SpacePrefix:
    """Where a text alone gets a leading space, the encoder must not do it: it sees every stretch
    between special tokens as a text."""
    spaced: SpacePrefix = "encoder" if "Prepend" in _kinds(_state(encoder.normalizer)) else "never"
    parts = encoder.pre_tokenizer
    for part in parts if isinstance(parts, pre_tokenizers.Sequence) else [parts]:
        match part:
            case pre_tokenizers.Metaspace(prepend_scheme="first"):
                part.prepend_scheme = "never"
                return "first"
            case pre_tokenizers.Metaspace(prepend_scheme="always"):
                spaced = "encoder"
            case pre_tokenizers.ByteLevel(add_prefix_space=True):
                spaced = "encoder"
    return spaced


def _find_bos(
    path: Path, encoder: tokenizers.Tokenizer, settings: Mapping[str, Any], ids: Mapping[str, int]
) -> int | None:
    """tokenizer_config.json decides where it speaks of it, else what is put around no text."""
    name = spellings(settings).get("bos_token")
    if name is None:
        return None
    wanted = settings.get("add_bos_token")
    if wanted is None:
        wanted = encoder.encode("").ids[:1] == [ids.get(name)]
    if wanted and name not in ids:
        raise BadFile(path, f"has no token {name!r}, the bos_token of {SETTINGS}")
    return ids[name] if wanted else None
