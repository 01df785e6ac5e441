import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from vilfredo.base.errors import BadFile
from vilfredo.text.load import load_tokenizer
from vilfredo.text.tokenizer import ModelTokenizer

same_fixture = settings(suppress_health_check=[HealthCheck.function_scoped_fixture])


def names(tokenizer: ModelTokenizer, text: str, specials: bool = False) -> list[str]:
    return list(map(tokenizer.name, tokenizer.encode(text, specials)))


@same_fixture
@given(st.text().filter(lambda text: "▁" not in text))
def test_text_comes_back_whole(piece_tokenizer: ModelTokenizer, text: str) -> None:
    assert piece_tokenizer.decode(piece_tokenizer.encode(text)) == text


@same_fixture
@given(st.lists(st.sampled_from([*"abchi", " a", " h"]), max_size=8).map("".join))
def test_the_best_score_merges_first(piece_tokenizer: ModelTokenizer, text: str) -> None:
    """The specification: of all neighbors that make a token, join those of the best score."""
    scores = {piece_tokenizer.name(token): -token for token in range(piece_tokenizer.vocabulary)}
    pieces = list(f" {text}".replace(" ", "▁")) if text else []
    while True:
        made = [left + right for left, right in itertools.pairwise(pieces)]
        scored = [(scores[name], -at) for at, name in enumerate(made) if name in scores]
        if not scored:
            break
        at = -max(scored)[1]
        pieces[at : at + 2] = [made[at]]
    assert names(piece_tokenizer, text) == pieces


def test_bytes_stand_in_for_unknown_characters(piece_tokenizer: ModelTokenizer) -> None:
    assert names(piece_tokenizer, "é🙂") == ["▁", "é", "<0xF0>", "<0x9F>", "<0x99>", "<0x82>"]


def test_runs_are_tokens_of_their_own(piece_tokenizer: ModelTokenizer) -> None:
    assert names(piece_tokenizer, "a\n\n\nb") == ["▁a", "\n\n", "▁", "<0x0A>", "b"]


def test_every_stretch_after_a_special_token_gets_a_space(piece_tokenizer: ModelTokenizer) -> None:
    text = "hi<|start|>hi"
    assert names(piece_tokenizer, text, specials=True) == ["▁hi", "<|start|>", "▁hi"]
    assert names(piece_tokenizer, "") == []


def test_spellings_of_bytes_and_controls_stay_text(piece_tokenizer: ModelTokenizer) -> None:
    text = "<0x41><s><unk>"
    tokens = piece_tokenizer.encode(text)
    assert piece_tokenizer.decode(tokens) == text
    assert not {piece_tokenizer.name(token) for token in tokens} & {"<0x41>", "<s>", "<unk>"}


def test_what_nothing_can_spell_is_the_unknown_token(
    checkpoint: Callable[..., Any], piece_metadata: dict[str, Any]
) -> None:
    types = piece_metadata["tokenizer.ggml.token_type"].copy()
    types[types == 6] = 5  # no bytes
    changed = piece_metadata | {"tokenizer.ggml.token_type": types}
    tokenizer = load_tokenizer(checkpoint(changed))
    assert names(tokenizer, "a🙂🙂b") == ["▁a", "<unk>", "b"]
    assert tokenizer.decode(tokenizer.encode("a🙂b")) == "ab"


def test_prefix_and_bos_where_the_file_says(
    checkpoint: Callable[..., Any], piece_metadata: dict[str, Any]
) -> None:
    assert load_tokenizer(checkpoint(piece_metadata)).bos == 1
    flags = {"tokenizer.ggml.add_space_prefix": False, "tokenizer.ggml.add_bos_token": False}
    plain = load_tokenizer(checkpoint(piece_metadata | flags))
    assert plain.bos is None
    assert names(plain, "hi hi") == ["hi", "▁hi"]
    assert plain.decode(plain.encode(" hi")) == " hi"


def test_scores_are_needed(checkpoint: Callable[..., Any], piece_metadata: dict[str, Any]) -> None:
    del piece_metadata["tokenizer.ggml.scores"]
    with pytest.raises(BadFile, match="scores is missing"):
        load_tokenizer(checkpoint(piece_metadata))


def test_scores_decide_not_the_order(
    checkpoint: Callable[..., Any], piece_metadata: dict[str, Any]
) -> None:
    key = "tokenizer.ggml.scores"
    assert names(load_tokenizer(checkpoint(piece_metadata)), "abc") == ["▁", "abc"]
    scores = np.arange(len(piece_metadata[key]), dtype=np.float32)
    turned = load_tokenizer(checkpoint(piece_metadata | {key: scores}))
    assert names(turned, "abc") == ["▁ab", "c"]
