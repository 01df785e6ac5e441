"""How byte-level models cut a text before they merge, by the names that GGUF files give it."""

from dataclasses import dataclass

import tokenizers
from tokenizers import pre_tokenizers

from vilfredo.base.errors import Unsupported


@dataclass(frozen=True, slots=True)
class Cutting:
    """The patterns cut one after the other; every match and every gap is merged by itself."""

    patterns: tuple[str, ...]
    compose: bool = False  # the text is brought to NFC first
    whole: bool = False  # a stretch that is a token as it stands is not merged
    bos: bool = False  # a text begins with bos, where the file does not say

    def pre_tokenizer(self) -> pre_tokenizers.PreTokenizer:
        cuts = [
            pre_tokenizers.Split(tokenizers.Regex(pattern), "isolated") for pattern in self.patterns
        ]
        letters = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
        return pre_tokenizers.Sequence([*cuts, letters])


_GPT2 = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
_SPACES = r"\s*[\r\n]+|\s+(?!\S)|\s+"
_CONTRACTIONS = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)"
_WORDS = r"[^\r\n\p{L}\p{N}]?\p{L}+"
_SYMBOLS = r" ?[^\s\p{L}\p{N}]+[\r\n]*"
_QWEN2 = rf"{_CONTRACTIONS}|{_WORDS}|\p{{N}}|{_SYMBOLS}|{_SPACES}"
_LLAMA3 = rf"{_CONTRACTIONS}|{_WORDS}|\p{{N}}{{1,3}}|{_SYMBOLS}|{_SPACES}"
# Words that turn at an upper-case letter, as GPT-4o and Mistral's Tekken have them.
_UPPER, _LOWER = r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]", r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]"
_LEAD = r"[^\r\n\p{L}\p{N}]?"
_SLASHED = r" ?[^\s\p{L}\p{N}]+[\r\n/]*"
_TEKKEN = rf"{_LEAD}{_UPPER}*{_LOWER}+|{_LEAD}{_UPPER}+{_LOWER}*|\p{{N}}|{_SLASHED}|{_SPACES}"
_GPT4O = (
    rf"{_LEAD}{_UPPER}*{_LOWER}+{_CONTRACTIONS}?|{_LEAD}{_UPPER}+{_LOWER}*{_CONTRACTIONS}?"
    rf"|\p{{N}}{{1,3}}|{_SLASHED}|{_SPACES}"
)
_DEEPSEEK3 = (
    r"\p{N}{1,3}",
    r"[一-龥぀-ヿ]+",
    r"[!\"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+"
    rf"| ?[\p{{P}}\p{{S}}]+[\r\n]*|{_SPACES}",
)
_DEEPSEEK_CODER = (r"[\r\n]", r"\s?\p{L}+", r"\s?\p{P}+", r"[一-龥ࠀ-一가-퟿]+", r"\p{N}")
# What files mean that were converted before the pre-tokenizer was recorded.
_DEFAULT = (r"[\p{P}\$\+<=>\^~\|]+", _GPT2, r"\p{N}+", r"[0-9][0-9][0-9]")

_DIGITS = Cutting((r"\p{N}", _GPT2))
_CUTTINGS = {
    "default": Cutting(_DEFAULT),
    "gpt-2": Cutting((_GPT2,)),
    "phi-2": Cutting((_GPT2,)),
    "mpt": Cutting((_GPT2,), compose=True),
    "olmo": Cutting((_GPT2,), compose=True),
    "smollm": _DIGITS,
    "starcoder": _DIGITS,
    "refact": _DIGITS,
    "command-r": Cutting((r"\p{N}", _GPT2), compose=True),
    "qwen2": Cutting((_QWEN2,), compose=True),
    "deepseek-r1-qwen": Cutting((_QWEN2,)),
    "llama-bpe": Cutting((_LLAMA3,), whole=True, bos=True),
    "llama3": Cutting((_LLAMA3,), whole=True, bos=True),
    "llama-v3": Cutting((_LLAMA3,), whole=True, bos=True),
    "deepseek-coder": Cutting(_DEEPSEEK_CODER),
    "deepseek-v3": Cutting(_DEEPSEEK3),
    "tekken": Cutting((_TEKKEN,), whole=True, bos=True),
    "gpt-4o": Cutting((_GPT4O,)),
}


def find_cutting(name: str) -> Cutting:
    """Raises Unsupported for a name that this version does not know."""
    if name not in _CUTTINGS:
        raise Unsupported(f"the pre-tokenizer {name!r} is not known; known: {', '.join(_CUTTINGS)}")
    return _CUTTINGS[name]
