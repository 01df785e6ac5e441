import pytest
import tokenizers
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tokenizers import models

from vilfredo.base.errors import InvalidInput
from vilfredo.text.tokenizer import ModelTokenizer, Vocabulary

same_fixture = settings(suppress_health_check=[HealthCheck.function_scoped_fixture])


def tiny(merges: list[tuple[str, str]], controls: dict[str, int]) -> ModelTokenizer:
    """The letters of "<s>abc" and what is merged of them."""
    names = [*"<s>abc", *(left + right for left, right in merges)]
    ids = {name: token for token, name in enumerate(names)}
    vocabulary = Vocabulary(
        names, controls, frozenset(controls.values()), frozenset(), lambda name: name.encode()
    )
    encoder = tokenizers.Tokenizer(models.BPE(ids, merges))
    return ModelTokenizer(encoder, vocabulary, None, frozenset(controls.values()))


@same_fixture
@given(st.text())
def test_text_comes_back_whole(byte_tokenizer: ModelTokenizer, text: str) -> None:
    tokens = byte_tokenizer.encode(text)
    assert byte_tokenizer.decode(tokens) == text
    assert b"".join(map(byte_tokenizer.piece, tokens)) == text.encode()


@same_fixture
@given(st.lists(st.sampled_from(["<s>", "<|end|>", "<|", "hello", " ", "|>", "\n"])).map("".join))
def test_typed_special_tokens_stay_text(byte_tokenizer: ModelTokenizer, text: str) -> None:
    tokens = byte_tokenizer.encode(text)
    assert not {byte_tokenizer.name(token) for token in tokens} & {"<s>", "<|end|>", "<|start|>"}
    assert byte_tokenizer.decode(tokens) == text


def test_special_tokens_are_parsed_where_asked_for(byte_tokenizer: ModelTokenizer) -> None:
    tokens = byte_tokenizer.encode("<|start|>hello<|end|>", specials=True)
    assert list(map(byte_tokenizer.name, tokens)) == ["<|start|>", "hello", "<|end|>"]
    assert byte_tokenizer.decode(tokens) == "hello"
    longest = byte_tokenizer.encode("<|startle|>", specials=True)
    assert list(map(byte_tokenizer.name, longest)) == ["<|startle|>"]


def test_marks_break_special_tokens_and_vanish(byte_tokenizer: ModelTokenizer) -> None:
    mark = "\U000f0000"
    tokens = byte_tokenizer.encode_marked(f"<s>he{mark}llo<{mark}s>", mark)
    assert tokens == byte_tokenizer.encode("<s>", specials=True) + byte_tokenizer.encode("hello<s>")


def test_ids_outside_of_the_vocabulary_have_a_name_and_no_text(
    byte_tokenizer: ModelTokenizer,
) -> None:
    size = byte_tokenizer.vocabulary
    assert [byte_tokenizer.piece(token) for token in (-1, size)] == [b"", b""]
    assert [byte_tokenizer.name(token) for token in (-1, size)] == ["[-1]", f"[{size}]"]
    assert byte_tokenizer.decode([size]) == ""


def test_half_a_surrogate_pair_is_refused(byte_tokenizer: ModelTokenizer) -> None:
    with pytest.raises(InvalidInput, match="half of a surrogate pair"):
        byte_tokenizer.encode("a\ud800")


def test_merges_that_make_a_control_token_are_undone() -> None:
    merges = [("<", "s"), ("<s", ">"), ("a", "b")]
    tokenizer = tiny(merges, {"<s>": 7})
    tokens = tokenizer.encode("ab<s>ab")
    assert list(map(tokenizer.name, tokens)) == ["ab", "<", "s", ">", "ab"]
    assert tokenizer.encode("ab<s>", specials=True) == [8, 7]


def test_a_control_token_that_text_cannot_avoid_is_refused() -> None:
    tokenizer = tiny([("a", "b")], {"xy": 3})  # the letter "a", under another name
    with pytest.raises(InvalidInput, match="cannot be told from text"):
        tokenizer.encode("ca")
