"""What the rest of the system needs of a tokenizer."""

from collections.abc import Sequence
from typing import Protocol


class Tokenizer(Protocol):
    vocabulary: int
    bos: int | None  # put before a prompt that is not a chat, where the model wants it
    ends: frozenset[int]  # tokens that end a turn or a text

    def encode(self, text: str, specials: bool = False) -> list[int]:
        """Tokens of the text, without bos. Special tokens spelled in it are parsed only if
        `specials`: never for text that a user wrote."""
        ...

    def piece(self, token: int) -> bytes:
        """The bytes that a token stands for; empty for control tokens. Joined pieces of a text's
        tokens are its UTF-8, though one piece may hold a part of a character, and the first may
        begin with a space that encode put before the text."""
        ...

    def name(self, token: int) -> str:
        """How the vocabulary spells the token, control tokens included (for logprobs, logs)."""
        ...

    def decode(self, tokens: Sequence[int]) -> str:
        """The joined pieces as a text of its own, without a space that encode would put before
        it; bytes that are no UTF-8 become U+FFFD."""
        ...
