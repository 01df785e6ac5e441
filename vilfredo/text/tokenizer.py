"""The tokenizer that every source builds: an encoder for ordinary text between special tokens."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import tokenizers

from vilfredo.base.errors import InvalidInput
from vilfredo.text.specials import SpecialTokens

# Where encode puts a space that the text does not have: "every" before each stretch between
# special tokens, "first" before the text alone and only where it has none.
SpacePrefix = Literal["never", "first", "every"]


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """Tokens by id. `spell` turns an ordinary token's name into its bytes."""

    names: Sequence[str]
    controls: Mapping[str, int]
    silent: frozenset[int]  # no bytes: control, unknown and unused tokens
    literal: frozenset[int]  # the name is the text itself
    spell: Callable[[str], bytes]


class ModelTokenizer:
    """See `vilfredo.text.protocol.Tokenizer`. The encoder must never give a control token."""

    def __init__(
        self,
        encoder: tokenizers.Tokenizer,
        vocabulary: Vocabulary,
        bos: int | None,
        ends: frozenset[int],
        space_prefix: SpacePrefix = "never",
    ) -> None:
        self.vocabulary = len(vocabulary.names)
        self.bos = bos
        self.ends = ends
        self.specials = SpecialTokens(vocabulary.controls)
        self._encoder = encoder
        self._vocabulary = vocabulary
        self._space_prefix = space_prefix

    def encode(self, text: str, specials: bool = False) -> list[int]:
        return self.encode_marked(text, "") if specials else self._ordinary(text, first=True)

    def encode_marked(self, text: str, mark: str) -> list[int]:
        """Tokens of a text whose special tokens are parsed, save those that hold the mark, which
        itself leaves no trace."""
        tokens: list[int] = []
        for part in self.specials.split(text):
            if isinstance(part, int):
                tokens.append(part)
            else:
                ordinary = part.replace(mark, "") if mark else part
                tokens += self._ordinary(ordinary, first=not tokens)
        return tokens

    def piece(self, token: int) -> bytes:
        if not 0 <= token < self.vocabulary or token in self._vocabulary.silent:
            return b""
        name = self._vocabulary.names[token]
        return name.encode() if token in self._vocabulary.literal else self._vocabulary.spell(name)

    def name(self, token: int) -> str:
        """A model may give logits for ids past its vocabulary; those are named by their number."""
        if 0 <= token < self.vocabulary:
            return self._vocabulary.names[token]
        return f"[{token}]"

    def decode(self, tokens: Sequence[int]) -> str:
        """Drops the space that encode puts before a text."""
        joined = b"".join(map(self.piece, tokens))
        if self._space_prefix != "never":
            joined = joined.removeprefix(b" ")
        return joined.decode("utf-8", "replace")

    def _ordinary(self, text: str, first: bool) -> list[int]:
        wanted = first if self._space_prefix == "first" else self._space_prefix == "every"
        if wanted and text and not (self._space_prefix == "first" and text.startswith((" ", "▁"))):
            text = " " + text
        try:
            return self._encoder.encode(text, add_special_tokens=False).ids
        except TypeError:
            raise InvalidInput("text", "holds half of a surrogate pair, which is no text") from None
