"""What everyone above the engine sees of it: submit tokens, iterate over what comes back."""

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from typing import Protocol

from vilfredo.core.encode import Encode, Rows
from vilfredo.core.request import Request
from vilfredo.engine.messages import Delta, Stats


@dataclass(frozen=True, slots=True)
class Health:
    """Healthy means alive and, while there is work, stepping."""

    alive: bool  # the engine's process runs
    ready: bool  # the model is loaded and requests are taken
    progressing: bool  # a step ended lately, or there is nothing to do
    reason: str = ""  # why not, where not


class Door(Protocol):
    def submit(self, request: Request) -> AsyncIterator[Delta]:
        """Ends after the delta with a finish. Closing it early (aclose) cancels the request.

        Iterating raises Overloaded where the queue is full and EngineDied where the engine ends.
        """
        ...

    def stats(self) -> Stats: ...

    def health(self) -> Health: ...


class EncoderDoor(Protocol):
    async def encode(self, request: Encode) -> Sequence[Rows]:
        """What the model's head gives for each passage, in their order. Whoever cancels the
        waiting cancels the request.

        Raises Overloaded where the queue is full and EngineDied where the engine ends.
        """
        ...

    def health(self) -> Health: ...
