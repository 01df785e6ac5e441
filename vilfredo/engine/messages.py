"""What crosses between the engine and its client: the same messages in one process and across two.

msgspec encodes them (tagged, so that the union is closed); frozen dataclasses of `core` travel as
they are.
"""

import msgspec

from vilfredo.base.plan import Plan
from vilfredo.core.request import Request
from vilfredo.core.step import Sampled


class Start(msgspec.Struct, frozen=True, tag=True):
    """The first message to a new process, and the only one before it is Ready."""

    plan: Plan


class Submit(msgspec.Struct, frozen=True, tag=True):
    request: Request
    accepted: bool = False  # by an earlier engine: it may wait, but is not refused any more


class Cancel(msgspec.Struct, frozen=True, tag=True):
    id: str


class Stop(msgspec.Struct, frozen=True, tag=True):
    """Finish nothing more: the engine ends at once."""


Command = Start | Submit | Cancel | Stop


class Delta(msgspec.Struct, frozen=True, tag=True):
    """What one step gave one request. `finish` ends it: stop, length, cancelled, error."""

    id: str
    tokens: tuple[Sampled, ...]
    finish: str | None = None
    reason: str | None = None  # why, for an error
    cached: int = 0  # prompt tokens served from the prefix cache


class Refused(msgspec.Struct, frozen=True, tag=True):
    """The queue is full: nothing was accepted."""

    id: str
    reason: str
    retry_after: float


class Stats(msgspec.Struct, frozen=True, tag=True):
    """The engine's state after a step; counters only grow."""

    steps: int = 0
    running: int = 0
    waiting: int = 0
    waiting_tokens: int = 0
    blocks_used: int = 0  # held by sequences
    blocks_total: int = 1
    prefix_queries: int = 0  # prompt tokens looked up in the prefix cache
    prefix_hits: int = 0  # of them, found
    preemptions: int = 0


class Deltas(msgspec.Struct, frozen=True, tag=True):
    """All that one step gave out, with the state after it."""

    deltas: tuple[Delta, ...]
    stats: Stats


class Ready(msgspec.Struct, frozen=True, tag=True):
    """The model is loaded, the self-test passed; commands are taken."""


class Died(msgspec.Struct, frozen=True, tag=True):
    """The engine could not start or cannot go on; `reason` is fit to be shown."""

    reason: str


Event = Deltas | Refused | Ready | Died
