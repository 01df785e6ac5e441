from itertools import product

from hypothesis import given
from hypothesis import strategies as st

from vilfredo.text.specials import SpecialTokens

SPECIALS = SpecialTokens({"<s>": 1, "<|a|>": 2, "<|a|>b": 3, "a<": 4, "x": 5})
MARK = "\U000f0000"
texts = st.lists(st.sampled_from(["<s>", "<|a|>", "b", "a<", "<", "|", "a", ">", "s"])).map("".join)


def test_splits_leftmost_then_longest() -> None:
    assert list(SPECIALS.split("1<s><|a|>b<|a|>2a<s>")) == ["1", 1, 3, 2, "2", 4, "s>"]
    assert list(SPECIALS.split("")) == []
    assert list(SpecialTokens({}).split("<s>")) == ["<s>"]


def test_one_character_is_never_special() -> None:
    assert "x" not in SPECIALS.ids


@given(texts)
def test_split_loses_nothing(text: str) -> None:
    spelled = {token: name for name, token in SPECIALS.ids.items()}
    assert "".join(p if isinstance(p, str) else spelled[p] for p in SPECIALS.split(text)) == text


@given(st.lists(texts, min_size=1, max_size=4))
def test_protected_contents_never_make_a_special_token(contents: list[str]) -> None:
    protected = "".join(SPECIALS.protect(content, MARK) for content in contents if len(content) > 4)
    assert all(isinstance(part, str) for part in SPECIALS.split(protected))
    assert protected.replace(MARK, "") == "".join(c for c in contents if len(c) > 4)


def test_protects_the_edges() -> None:
    for head, tail in product(["<|a", "<"], repeat=2):
        assert all(isinstance(p, str) for p in SPECIALS.split(SPECIALS.protect(head, MARK) + tail))
    joined = SPECIALS.protect("<|a", MARK) + SPECIALS.protect("|>", MARK)
    assert list(SPECIALS.split(joined)) == [joined]
    assert SPECIALS.protect("s>", MARK) == f"{MARK}s>"
    assert SPECIALS.protect("1<|a", MARK) == f"1<|a{MARK}"
    assert SPECIALS.protect("plain text", MARK) == "plain text"


def test_a_special_token_built_around_a_whole_value_is_the_templates() -> None:
    specials = SpecialTokens({"<|user|>": 7})
    assert list(specials.split("<|" + specials.protect("user", MARK) + "|>")) == [7]


def test_cut_pieces_spell_nothing_special() -> None:
    assert SPECIALS.cut("1<s>2") == ["1<", "s>2"]
    assert SPECIALS.cut("plain") == ["plain"]
