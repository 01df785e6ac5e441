"""Reads the vocabulary out of a GGUF file's metadata and checks it; builds nothing."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from numbers import Integral
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vilfredo.base.errors import BadFile
from vilfredo.text.ends import END_SPELLINGS

PREFIX = "tokenizer.ggml."
# The values of tokenizer.ggml.token_type.
NORMAL, UNKNOWN, CONTROL, USER_DEFINED, UNUSED, BYTE = range(1, 7)


@dataclass(frozen=True, slots=True)
class GgufVocabulary:
    path: Path
    tokens: Sequence[str]
    types: NDArray[np.integer]
    scores: NDArray[np.floating] | None
    bos: int | None  # whether or not it is wanted before a text
    ends: frozenset[int]

    def of_type(self, *types: int) -> dict[str, int]:
        """Names and ids of the tokens of these types."""
        ids = np.flatnonzero(np.isin(self.types, types)).tolist()
        return {self.tokens[token]: token for token in ids}

    def ordinary(self) -> dict[str, int]:
        """What an encoder may give. Control tokens are not even known to it, so that no spelling
        of a user's can become one."""
        return self.of_type(NORMAL, USER_DEFINED, BYTE)


def read_vocabulary(path: Path, metadata: Mapping[str, Any]) -> GgufVocabulary:
    """Raises BadFile where the arrays do not fit each other or an id is outside of them."""
    tokens = metadata.get(f"{PREFIX}tokens")
    if not isinstance(tokens, list) or not tokens or not all(isinstance(t, str) for t in tokens):
        raise BadFile(path, f"{PREFIX}tokens is missing or no list of strings")
    try:
        "".join(tokens).encode()
    except UnicodeEncodeError as error:
        raise BadFile(path, f"{PREFIX}tokens holds text that is not UTF-8") from error
    types = _array(path, metadata, "token_type", len(tokens), "iu")
    types = np.full(len(tokens), NORMAL) if types is None else types.copy()
    bos = _token(path, metadata, "bos_token_id", len(tokens))
    keys = ("eos_token_id", "eot_token_id", "eom_token_id")
    ends = {_token(path, metadata, key, len(tokens)) for key in keys} - {None}
    for token in {bos, *ends} - {None}:
        types[token] = CONTROL
    controls = np.flatnonzero(types == CONTROL).tolist()
    ends.update(token for token in controls if tokens[token] in END_SPELLINGS)
    scores = _array(path, metadata, "scores", len(tokens), "f")
    return GgufVocabulary(path, tokens, types, scores, bos, frozenset(ends))


def read_flag(path: Path, metadata: Mapping[str, Any], key: str, default: bool) -> bool:
    value = metadata.get(PREFIX + key, default)
    if not isinstance(value, bool | np.bool_):
        raise BadFile(path, f"{PREFIX}{key} must be true or false, not {value!r}")
    return bool(value)


def _token(path: Path, metadata: Mapping[str, Any], key: str, size: int) -> Any:
    """A token's id, or None where the file names none."""
    value = metadata.get(PREFIX + key)
    if value is None:
        return None
    if not isinstance(value, Integral) or not 0 <= int(value) < size:
        raise BadFile(path, f"{PREFIX}{key} is {value!r}, outside of the {size} tokens")
    return int(value)


def _array(path: Path, metadata: Mapping[str, Any], key: str, size: int, kinds: str) -> Any:
    """One number a token, or None where the file has none."""
    value = metadata.get(PREFIX + key)
    if value is None:
        return None
    array = np.asarray(value)
    if array.dtype.kind not in kinds or array.shape != (size,):
        raise BadFile(path, f"{PREFIX}{key} is not one number for each of the {size} tokens")
    if not np.isfinite(array).all():
        raise BadFile(path, f"{PREFIX}{key} holds something that is no number")
    return array
