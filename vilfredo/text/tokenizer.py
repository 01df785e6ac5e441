"""The tokenizer that every source builds: an encoder for ordinary text between special tokens."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import tokenizers

from vilfredo.base.errors import InvalidInput
from vilfredo.text.specials import SpecialTokens

# Who puts a space before a text that it does not have: nobody; encode, before a text that does
# not begin with one; or the encoder, before every stretch between special tokens.
SpacePrefix = Literal["never", "first", "encoder"]


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """Tokens by id. `spell` turns an ordinary token's name into its bytes."""

    names: Sequence[str]
    controls: Mapping[str, int]
    silent: frozenset[int]  # no bytes: control, unknown and unused tokens
    literal: frozenset[int]  # the name is the text itself
    spell: Callable[[str], bytes]


class ModelTokenizer:
    """See `vilfredo.text.protocol.Tokenizer`."""

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
        self._controls = frozenset(self.specials.ids.values())
        self._encoder = encoder
        self._vocabulary = vocabulary
        self._space_prefix = space_prefix
        self._pieces: dict[int, bytes] = {}  # of tokens that were asked for: at most all

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
        piece = self._pieces.get(token)
        if piece is None:
            piece = self._pieces[token] = self._spell(token)
        return piece

    def _spell(self, token: int) -> bytes:
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
        if first and self._space_prefix == "first" and text and not text.startswith((" ", "▁")):
            text = " " + text
        tokens = self._encode(text)
        if not self._controls.isdisjoint(tokens):
            # Some vocabularies have merges that make a control token of its spelling; none reach
            # over the border between two encodings.
            tokens = [token for part in self.specials.cut(text) for token in self._encode(part)]
            if not self._controls.isdisjoint(tokens):
                raise InvalidInput("text", "spells a control token that cannot be told from text")
        return tokens

    def _encode(self, text: str) -> list[int]:
        try:
            return self._encoder.encode(text, add_special_tokens=False).ids
        except TypeError:
            raise InvalidInput("text", "holds half of a surrogate pair, which is no text") from None
