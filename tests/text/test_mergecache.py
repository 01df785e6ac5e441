from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from vilfredo.text.gguf import GgufVocabulary, read_vocabulary
from vilfredo.text.mergecache import MergeCache, cache_directory


class Counting:
    """Derives the same merges every time and counts how often."""

    def __init__(self) -> None:
        self.calls = 0

    def __call__(self) -> NDArray[np.int32]:
        self.calls += 1
        return np.array([[1, 2], [3, 4]], np.int32)


@pytest.fixture
def vocabulary(piece_metadata: dict[str, Any]) -> GgufVocabulary:
    return read_vocabulary(Path("tiny.gguf"), piece_metadata)


def test_derives_once(tmp_path: Path, vocabulary: GgufVocabulary) -> None:
    derive = Counting()
    cache = MergeCache(tmp_path / "new" / "tokenizers", smallest=1)
    found = [cache.find_or_derive(vocabulary, derive) for _ in range(3)]
    assert derive.calls == 1
    assert all(merges.tolist() == [[1, 2], [3, 4]] for merges in found)
    assert len(list(cache.directory.iterdir())) == 1


def test_other_scores_are_another_entry(tmp_path: Path, piece_metadata: dict[str, Any]) -> None:
    derive = Counting()
    cache = MergeCache(tmp_path, smallest=1)
    for shift in (0, 1):
        scores = piece_metadata["tokenizer.ggml.scores"] + np.float32(shift)
        changed = piece_metadata | {"tokenizer.ggml.scores": scores}
        cache.find_or_derive(read_vocabulary(Path("x"), changed), derive)
    assert derive.calls == 2


@pytest.mark.parametrize("damage", [b"", b"short", b"\0" * 48])
def test_a_damaged_file_is_made_again(
    tmp_path: Path, vocabulary: GgufVocabulary, damage: bytes
) -> None:
    derive = Counting()
    cache = MergeCache(tmp_path, smallest=1)
    cache.find_or_derive(vocabulary, derive)
    [file] = tmp_path.iterdir()
    whole = file.read_bytes()
    file.write_bytes(damage)
    assert cache.find_or_derive(vocabulary, derive).tolist() == [[1, 2], [3, 4]]
    assert derive.calls == 2
    assert file.read_bytes() == whole


def test_small_vocabularies_are_not_kept(tmp_path: Path, vocabulary: GgufVocabulary) -> None:
    derive = Counting()
    MergeCache(tmp_path).find_or_derive(vocabulary, derive)
    assert derive.calls == 1
    assert list(tmp_path.iterdir()) == []


def test_a_place_that_cannot_be_written_costs_only_time(
    tmp_path: Path, vocabulary: GgufVocabulary
) -> None:
    (tmp_path / "file").write_text("in the way")
    cache = MergeCache(tmp_path / "file", smallest=1)
    assert cache.find_or_derive(vocabulary, Counting()).tolist() == [[1, 2], [3, 4]]


def test_a_failed_write_leaves_nothing(
    tmp_path: Path, vocabulary: GgufVocabulary, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise OSError("no space left")

    monkeypatch.setattr("os.replace", fail)
    MergeCache(tmp_path, smallest=1).find_or_derive(vocabulary, Counting())
    assert list(tmp_path.iterdir()) == []


def test_the_directory_is_the_users() -> None:
    assert cache_directory({"VILFREDO_CACHE": "/c"}) == Path("/c/tokenizers")
    assert cache_directory({}) == Path.home() / ".cache" / "vilfredo" / "tokenizers"
