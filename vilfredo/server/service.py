"""What the HTTP server serves: a model's name and facts, its text side, the door to its engine."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from random import Random, SystemRandom
from typing import Any, Protocol

from vilfredo.base.clock import Clock
from vilfredo.engine.door import Door
from vilfredo.server.gate import Gate
from vilfredo.text.protocol import Tokenizer


class Template(Protocol):
    def encode(self, messages: Sequence[Mapping[str, Any]]) -> list[int]:
        """Tokens of a conversation, up to where the model's answer begins. Raises InvalidInput."""
        ...


@dataclass(frozen=True, slots=True)
class Service:
    served_name: str  # what requests call the model
    tokenizer: Tokenizer
    template: Template | None  # None: the model is not made for chat
    door: Door
    context: int  # most tokens of one sequence
    vocabulary: int  # tokens that the model knows; a tokenizer may know fewer
    created: int  # Unix time
    clock: Clock
    wall: Callable[[], float] = time.time
    random: Random = field(default_factory=SystemRandom)  # of seeds and ids
    gate: Gate = field(default_factory=Gate)
    most_body_bytes: int = 16 << 20

    def draw_id(self, prefix: str) -> str:
        return f"{prefix}-{self.random.getrandbits(96):024x}"

    def draw_seed(self) -> int:
        return self.random.getrandbits(63)
