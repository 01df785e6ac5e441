import pytest

from vilfredo.base.errors import Unsupported
from vilfredo.text.pretokenizers import find_cutting

TEXT = "It's 1234  x\n\n  y+=DON'T"


def cut(name: str, text: str) -> list[str]:
    letters = {"Ġ": " ", "Ċ": "\n"}
    pieces = [piece for piece, _ in find_cutting(name).pre_tokenizer().pre_tokenize_str(text)]
    return ["".join(letters.get(letter, letter) for letter in piece) for piece in pieces]


CUTS = {
    "gpt-2": "It|'s| 1234| | x|\n\n | y|+=|DON|'|T",
    "smollm": "It|'s| |1|2|3|4| | x|\n\n | y|+=|DON|'|T",
    "qwen2": "It|'s| |1|2|3|4| | x|\n\n| | y|+=|DON|'T",
    "llama-bpe": "It|'s| |123|4| | x|\n\n| | y|+=|DON|'T",
    "tekken": "It|'s| |1|2|3|4| | x|\n\n| | y|+=|DON|'T",
    "gpt-4o": "It's| |123|4| | x|\n\n| | y|+=|DON'T",
    "deepseek-v3": "It|'s| |123|4| | x|\n\n| | y|+=|DON|'T",
    "deepseek-coder": "It|'|s| |1|2|3|4| | x|\n|\n| | y|+=|DON|'|T",
    "default": "It|'|s| |123|4| | x|\n\n | y|+=|DON|'|T",
}


@pytest.mark.parametrize("name", CUTS)
def test_cuts_as_the_models_own_tokenizer_does(name: str) -> None:
    assert cut(name, TEXT) == CUTS[name].split("|")


def test_an_unknown_name_is_refused() -> None:
    with pytest.raises(Unsupported, match="'nobody' is not known"):
        find_cutting("nobody")
