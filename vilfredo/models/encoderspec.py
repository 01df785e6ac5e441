"""An encoder of the BERT family as data: what one encoder runs, and what its outputs mean."""

from dataclasses import dataclass
from typing import Literal

from vilfredo.ops.table import Nonlinearity


@dataclass(frozen=True, slots=True)
class TokenLabels:
    """A score for each label and token: entity recognition. Out: [tokens, labels] a passage."""

    labels: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class TextLabels:
    """A score for each label: classification, or with one label the relevance of a text to a
    query (a cross-encoder). Out: [1, labels] a passage.

    `dense` is how the first token's row is read: through a matrix and tanh (bert's pooler and
    roberta's head), a matrix and relu (distilbert), or as it is.
    """

    labels: tuple[str, ...]
    dense: Literal["tanh", "relu", "none"]
    many: bool = False  # labels exclude each other (softmax) unless many hold at once (sigmoid)


@dataclass(frozen=True, slots=True)
class Embedding:
    """One vector a text. Out: [1, width] a passage."""

    pooling: Literal["mean", "first"]  # over all tokens, special ones included, or the first
    normalize: bool  # to length 1


Head = TokenLabels | TextLabels | Embedding


@dataclass(frozen=True, slots=True)
class EncoderSpec:
    """Absolute positions, and a layer norm after each half of a layer (Devlin et al. 2018)."""

    family: str
    vocabulary: int
    width: int
    layers: int
    heads: int
    hidden: int
    activation: Nonlinearity
    norm_eps: float
    positions: int  # rows of the position table
    first_position: int  # the row of the first token: roberta leaves some unused
    types: int  # rows of the token type table; 0: there is none
    window: int  # most tokens of a passage that its author made it for, special ones included
    head: Head
