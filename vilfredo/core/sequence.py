"""A sequence in flight: its tokens, how many are computed, the blocks that hold them."""

from array import array
from dataclasses import dataclass, field
from enum import Enum

from vilfredo.core.request import Request


class State(Enum):
    WAITING = "waiting"
    RUNNING = "running"
    FINISHED = "finished"


class Finish(Enum):
    STOP = "stop"  # a stop token; it is the last of `tokens`
    LENGTH = "length"  # max_tokens, or the context is full
    CANCELLED = "cancelled"
    ERROR = "error"  # the model gave no usable distribution


@dataclass(slots=True, eq=False)
class Sequence:
    """Written by the scheduler alone; everything but `request` and `tokens` can be rebuilt.

    Invariants: 0 <= computed <= len(tokens); the KV of tokens[:computed] lies in `blocks`, in
    order; a running sequence has computed < len(tokens).
    """

    request: Request
    arrival: float
    tokens: list[int] = field(init=False)  # prompt, then output
    computed: int = 0
    blocks: "array[int]" = field(default_factory=lambda: array("i"))  # read as int32, not copied
    keys: list[bytes] = field(default_factory=list)  # of full blocks of tokens; grown when needed
    cached: int | None = None  # prompt tokens found in the prefix cache when first admitted
    state: State = State.WAITING
    finish: Finish | None = None
    reason: str | None = None  # why, for an error

    def __post_init__(self) -> None:
        self.tokens = [*self.request.prompt, *self.request.output]

    @property
    def output_count(self) -> int:
        return len(self.tokens) - len(self.request.prompt)
