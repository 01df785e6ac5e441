"""SentencePiece BPE (GGUF model "llama"): scores say what merges first, bytes stand in for gaps."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import tokenizers
from numpy.typing import NDArray
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
from vilfredo.text.mergecache import MergeCache
from vilfredo.text.tokenizer import ModelTokenizer, Vocabulary

SPACE = "▁"


def build_sentence_piece(
    vocabulary: GgufVocabulary, metadata: Mapping[str, Any], cache: MergeCache
) -> ModelTokenizer:
    path = vocabulary.path
    if vocabulary.scores is None:
        raise BadFile(path, f"{PREFIX}scores is missing")
    ordinary = vocabulary.ordinary()
    merges = cache.find_or_derive(vocabulary, lambda: derive_merges(vocabulary))
    left, right = (map(vocabulary.tokens.__getitem__, side) for side in merges.T.tolist())
    pairs = list(zip(left, right, strict=True))
    unknown = vocabulary.of_type(UNKNOWN)  # for what neither tokens nor bytes can spell
    encoder = tokenizers.Tokenizer(
        models.BPE(
            ordinary | unknown,
            pairs,
            unk_token=next(iter(unknown), None),
            fuse_unk=True,
            byte_fallback=True,
        )
    )
    prefix = read_flag(path, metadata, "add_space_prefix", True)
    spaces = normalizers.Replace(" ", SPACE)
    encoder.normalizer = (
        normalizers.Sequence([normalizers.Prepend(SPACE), spaces]) if prefix else spaces
    )
    literal = vocabulary.of_type(USER_DEFINED)
    encoder.add_tokens([tokenizers.AddedToken(name, normalized=False) for name in literal])
    table = Vocabulary(
        names=vocabulary.tokens,
        controls=vocabulary.of_type(CONTROL),
        silent=frozenset(vocabulary.of_type(CONTROL, UNKNOWN, UNUSED).values()),
        literal=frozenset(literal.values()),
        spell=spell_piece,
    )
    wants_bos = read_flag(path, metadata, "add_bos_token", True)
    return ModelTokenizer(
        encoder,
        table,
        vocabulary.bos if wants_bos else None,
        vocabulary.ends,
        "encoder" if prefix else "never",
    )


def derive_merges(vocabulary: GgufVocabulary) -> NDArray[np.int32]:  # [merges, 2]
    """Ids of every two tokens that make a third, those of the highest score first.

    SentencePiece stores no merges: it joins whichever neighbors make the token with the best score.
    User-defined tokens are cut out of the text before that, so that they take no part in it.
    """
    parts = vocabulary.of_type(NORMAL)
    names = list(parts)
    scores = np.asarray(vocabulary.scores)[list(parts.values())]
    merges: list[int] = []
    for index in np.argsort(-scores, kind="stable").tolist():
        name = names[index]
        for cut in range(1, len(name)):
            left = parts.get(name[:cut])
            if left is not None and (right := parts.get(name[cut:])) is not None:
                merges += (left, right)
    return np.array(merges, np.int32).reshape(-1, 2)


def spell_piece(name: str) -> bytes:
    """The bytes of a SentencePiece token: `<0xAB>` is a byte, `▁` a space."""
    if len(name) == 6 and name.startswith("<0x") and name.endswith(">"):
        return bytes.fromhex(name[3:5])
    return name.replace(SPACE, " ").encode()
