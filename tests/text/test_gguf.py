from pathlib import Path
from typing import Any

import numpy as np
import pytest

from vilfredo.base.errors import BadFile
from vilfredo.text.gguf import CONTROL, read_flag, read_vocabulary

PATH = Path("tiny.gguf")


def read(metadata: dict[str, Any], **changes: Any) -> Any:
    changed = metadata | {f"tokenizer.ggml.{key}": value for key, value in changes.items()}
    return read_vocabulary(PATH, {key: v for key, v in changed.items() if v is not None})


def test_reads_types_and_ends(byte_metadata: dict[str, Any]) -> None:
    vocabulary = read(byte_metadata, eot_token_id=np.uint32(3), eom_token_id=4)
    assert vocabulary.tokens[vocabulary.bos] == "<s>"
    assert vocabulary.ends == {3, 4, vocabulary.tokens.index("<|end|>")}
    assert {vocabulary.tokens[3], "<s>"} <= vocabulary.of_type(CONTROL).keys()
    assert not vocabulary.ordinary().keys() & {"<s>", "<gap>", "<unk>"}


def test_control_tokens_known_to_end_a_turn_are_ends(byte_metadata: dict[str, Any]) -> None:
    tokens = list(byte_metadata["tokenizer.ggml.tokens"])
    tokens[tokens.index("<|start|>")] = "<|im_end|>"
    tokens[0] = "</s>"  # ordinary here: a tag of HTML
    ends = read(byte_metadata, tokens=tokens).ends
    assert {tokens[end] for end in ends} == {"<|end|>", "<|im_end|>"}


def test_without_types_all_but_bos_and_ends_are_ordinary(byte_metadata: dict[str, Any]) -> None:
    vocabulary = read(byte_metadata, token_type=None)
    assert vocabulary.of_type(CONTROL).keys() == {"<s>", "<|end|>"}
    assert read(byte_metadata, token_type=None, bos_token_id=None).bos is None


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [
        ({"tokens": None}, "tokens is missing"),
        ({"tokens": []}, "tokens is missing"),
        ({"tokens": [1, 2]}, "tokens is missing or no list of strings"),
        ({"tokens": ["a", "\ud800"]}, "tokens holds text that is not UTF-8"),
        ({"bos_token_id": 10_000}, "bos_token_id is 10000, outside of the"),
        ({"eos_token_id": -1}, "eos_token_id is -1, outside of the"),
        ({"eot_token_id": "x"}, "eot_token_id is 'x'"),
        ({"token_type": np.ones(3, np.int32)}, "token_type is not one number for each"),
        ({"token_type": ["a"]}, "token_type is not one number for each"),
        ({"scores": np.ones(3, np.float32)}, "scores is not one number for each"),
    ],
)
def test_broken_metadata_is_named(
    byte_metadata: dict[str, Any], changes: dict[str, Any], complaint: str
) -> None:
    with pytest.raises(BadFile, match=complaint) as caught:
        read(byte_metadata, **changes)
    assert caught.value.path == "tiny.gguf"


def test_scores_must_be_numbers(piece_metadata: dict[str, Any]) -> None:
    scores = piece_metadata["tokenizer.ggml.scores"].copy()
    scores[5] = np.nan
    with pytest.raises(BadFile, match="scores holds something that is no number"):
        read(piece_metadata, scores=scores)


def test_flags_must_be_flags() -> None:
    key = "tokenizer.ggml.add_bos_token"
    assert read_flag(PATH, {}, "add_bos_token", True) is True
    assert read_flag(PATH, {key: np.bool_(False)}, "add_bos_token", True) is False
    with pytest.raises(BadFile, match="add_bos_token must be true or false, not 1"):
        read_flag(PATH, {key: 1}, "add_bos_token", True)
