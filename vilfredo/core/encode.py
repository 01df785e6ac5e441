"""What is asked of an encoder: passages of tokens, each computed whole and at once."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Passage:
    """Tokens as the model wants them, special tokens included.

    `second` is where the second of two texts begins (a query and a document, say): tokens from
    there on are of the second type. A passage of one text has none: len(tokens).
    """

    tokens: tuple[int, ...]
    second: int

    @classmethod
    def single(cls, tokens: tuple[int, ...]) -> "Passage":
        return cls(tokens, len(tokens))


@dataclass(frozen=True, slots=True)
class Encode:
    """Passages for one model, answered together: at least one, and none is empty."""

    id: str
    model: str  # the served name
    passages: tuple[Passage, ...]

    @property
    def tokens(self) -> int:
        return sum(len(passage.tokens) for passage in self.passages)


@dataclass(frozen=True, slots=True)
class Rows:
    """What a model's head gives for one passage: float32 numbers, row by row, little-endian."""

    columns: int
    data: bytes

    @property
    def count(self) -> int:
        return len(self.data) // (4 * self.columns)
