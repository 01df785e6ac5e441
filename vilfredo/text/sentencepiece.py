"""SentencePiece BPE (GGUF model "llama"): scores say what merges first, bytes stand in for gaps."""

from collections.abc import Mapping
from typing import Any

import tokenizers
from tokenizers import models, normalizers

from vilfredo.base.errors import BadFile
from vilfredo.text.gguf import (
    CONTROL,
    NORMAL,
    PREFIX,
    UNKNOWN,
    UNUSED,
    USER_DEFINED,
    GgufVocabulary,
    read_flag,
)
from vilfredo.text.tokenizer import ModelTokenizer, Vocabulary

SPACE = "▁"


def build_sentence_piece(vocabulary: GgufVocabulary, metadata: Mapping[str, Any]) -> ModelTokenizer:
    path = vocabulary.path
    ordinary = vocabulary.ordinary()
    merges = merges_by_score(vocabulary, ordinary)
    encoder = tokenizers.Tokenizer(models.BPE(ordinary, merges, byte_fallback=True))
    encoder.normalizer = normalizers.Replace(" ", SPACE)
    # Files differ in how they write the spaces of user-defined tokens; texts have real ones.
    literal = vocabulary.of_type(USER_DEFINED)
    encoder.add_tokens([tokenizers.AddedToken(name, normalized=False) for name in literal])
    table = Vocabulary(
        names=vocabulary.tokens,
        controls=vocabulary.of_type(CONTROL),
        silent=frozenset(vocabulary.of_type(CONTROL, UNKNOWN, UNUSED).values()),
        literal=frozenset(literal.values()),
        spell=spell_piece,
    )
    prefix = read_flag(path, metadata, "add_space_prefix", True)
    wants_bos = read_flag(path, metadata, "add_bos_token", True)
    return ModelTokenizer(
        encoder,
        table,
        vocabulary.bos if wants_bos else None,
        vocabulary.ends,
        "every" if prefix else "never",
    )


def merges_by_score(
    vocabulary: GgufVocabulary, ordinary: Mapping[str, int]
) -> list[tuple[str, str]]:
    """Every pair of tokens that makes a third, those of the highest score first.

    SentencePiece stores no merges: it joins whichever neighbors make the token with the best score.
    User-defined tokens are cut out of the text before that, so that they take no part in it.
    """
    if vocabulary.scores is None:
        raise BadFile(vocabulary.path, f"{PREFIX}scores is missing")
    scores = vocabulary.scores
    parts = vocabulary.of_type(NORMAL)
    merges: list[tuple[str, str]] = []
    for name in sorted(parts, key=lambda name: -scores[parts[name]]):
        for cut in range(1, len(name)):
            if (left := name[:cut]) in parts and (right := name[cut:]) in parts:
                merges.append((left, right))
    return merges


def spell_piece(name: str) -> bytes:
    """The bytes of a SentencePiece token: `<0xAB>` is a byte, `▁` a space."""
    if len(name) == 6 and name.startswith("<0x") and name.endswith(">"):
        return bytes.fromhex(name[3:5])
    return name.replace(SPACE, " ").encode()
