"""Keeps the merges that were derived from a vocabulary's scores; losing them costs only time."""

import contextlib
import hashlib
import os
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from vilfredo.base.cache import cache_root
from vilfredo.text.gguf import GgufVocabulary

_DERIVATION = b"1:"  # to be changed with what `derive_merges` makes of the same vocabulary
DIGEST_BYTES = hashlib.sha256().digest_size


def cache_directory(environment: Mapping[str, str]) -> Path:
    return cache_root(environment) / "tokenizers"


@dataclass(frozen=True, slots=True)
class MergeCache:
    """A file is the SHA-256 of its pairs, then the pairs of token ids as little-endian int32."""

    directory: Path
    smallest: int = 100_000  # tokens; what has fewer is derived in less than a second

    def find_or_derive(
        self, vocabulary: GgufVocabulary, derive: Callable[[], NDArray[np.int32]]
    ) -> NDArray[np.int32]:  # [merges, 2]
        if len(vocabulary.tokens) < self.smallest:
            return derive()
        path = self.directory / f"{_key(vocabulary)}.merges"
        found = _read(path)
        if found is None:
            found = derive()
            # A cache that cannot be written (full, read-only) must not keep a model from serving.
            with contextlib.suppress(OSError):
                _write(path, found)
        return found


def _key(vocabulary: GgufVocabulary) -> str:
    """A hash of all that merges are derived from."""
    names = "".join(f"{len(name)}:{name}" for name in vocabulary.tokens)
    parts = (vocabulary.types.astype("<i4"), np.asarray(vocabulary.scores, "<f8"))
    digest = hashlib.sha256(_DERIVATION + names.encode())
    for part in parts:
        digest.update(part.tobytes())
    return digest.hexdigest()


def _read(path: Path) -> NDArray[np.int32] | None:
    """None where there is no such file or it is not what was written."""
    try:
        data = path.read_bytes()
    except OSError:
        return None
    if hashlib.sha256(data[DIGEST_BYTES:]).digest() != data[:DIGEST_BYTES]:
        return None
    return np.frombuffer(data, "<i4", offset=DIGEST_BYTES).reshape(-1, 2)


def _write(path: Path, merges: NDArray[np.int32]) -> None:
    """All or nothing, whoever else writes the same."""
    data = np.ascontiguousarray(merges, "<i4").tobytes()
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor, draft = tempfile.mkstemp(dir=path.parent)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(hashlib.sha256(data).digest() + data)
        os.replace(draft, path)
    except OSError:
        os.unlink(draft)
        raise
