"""Byte-level BPE (GGUF model "gpt2"): every byte has a letter, and merges join letters."""

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

import tokenizers
from tokenizers import models, normalizers

from vilfredo.base.errors import BadFile, Unsupported
from vilfredo.text.gguf import (
    CONTROL,
    PREFIX,
    UNKNOWN,
    UNUSED,
    USER_DEFINED,
    GgufVocabulary,
    read_flag,
)
from vilfredo.text.pretokenizers import find_cutting
from vilfredo.text.tokenizer import ModelTokenizer, Vocabulary


def build_byte_level(vocabulary: GgufVocabulary, metadata: Mapping[str, Any]) -> ModelTokenizer:
    pre = metadata.get(f"{PREFIX}pre", "default")
    if not isinstance(pre, str):
        raise BadFile(vocabulary.path, f"{PREFIX}pre must be a string, not {pre!r}")
    cutting = find_cutting(pre)
    if read_flag(vocabulary.path, metadata, "add_space_prefix", False):
        raise Unsupported("a byte-level vocabulary with a space before every text is not supported")
    ordinary = vocabulary.ordinary()
    merges = _read_merges(vocabulary, metadata)
    encoder = tokenizers.Tokenizer(_build_model(vocabulary, ordinary, merges, cutting.whole))
    encoder.pre_tokenizer = cutting.pre_tokenizer()
    if cutting.compose:
        encoder.normalizer = normalizers.NFC()
    literal = vocabulary.of_type(USER_DEFINED)
    encoder.add_tokens([tokenizers.AddedToken(name, normalized=False) for name in literal])
    table = Vocabulary(
        names=vocabulary.tokens,
        controls=vocabulary.of_type(CONTROL),
        silent=frozenset(vocabulary.of_type(CONTROL, UNKNOWN, UNUSED).values()),
        literal=frozenset(literal.values()),
        spell=spell_letters,
    )
    wants_bos = read_flag(vocabulary.path, metadata, "add_bos_token", cutting.bos)
    return ModelTokenizer(encoder, table, vocabulary.bos if wants_bos else None, vocabulary.ends)


def _read_merges(vocabulary: GgufVocabulary, metadata: Mapping[str, Any]) -> list[str]:
    merges = metadata.get(f"{PREFIX}merges")
    if not isinstance(merges, list) or not all(isinstance(merge, str) for merge in merges):
        raise BadFile(vocabulary.path, f"{PREFIX}merges is missing or no list of strings")
    return merges


def _build_model(
    vocabulary: GgufVocabulary, ordinary: dict[str, int], merges: Sequence[str], whole: bool
) -> models.BPE:
    """Raises BadFile for a merge that does not stay within the ordinary tokens. The library finds
    that there is one; which one is looked for only then: a start has 150,000 to get through."""
    pairs = [(left, right) for left, _, right in (merge.partition(" ") for merge in merges)]
    try:
        return models.BPE(ordinary, pairs, ignore_merges=whole)
    except Exception as error:  # the library has no class of its own for what it refuses
        strays = (
            repr(merge)
            for merge, (left, right) in zip(merges, pairs, strict=True)
            if not {left, right, left + right} <= ordinary.keys()
        )
        stray = next(strays, "one of them")
        raise BadFile(
            vocabulary.path, f"{PREFIX}merges: {stray} joins or makes no ordinary token"
        ) from error


@cache
def _letters() -> dict[str, int]:
    """The letter of each byte: printable Latin-1 stands for itself, the others, in order, for
    the characters from U+0100 on (GPT-2's alphabet)."""
    printable = {*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)}
    others = [byte for byte in range(256) if byte not in printable]
    letters = {chr(byte): byte for byte in printable}
    letters.update({chr(0x100 + index): byte for index, byte in enumerate(others)})
    return letters


def spell_letters(name: str) -> bytes:
    """The bytes of a byte-level token; a character that is no byte's letter stands for itself."""
    letters = _letters()
    try:
        return bytes([letters[letter] for letter in name])
    except KeyError:
        return name.encode()
