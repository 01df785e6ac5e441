"""A request in flight, seen from the client: what has come for it, and what was given out."""

import asyncio
from dataclasses import replace

import msgspec

from vilfredo.base.errors import VilfredoError
from vilfredo.core.request import Request
from vilfredo.core.step import Sampled
from vilfredo.engine.messages import Delta


class Flight:
    """A mailbox whose reader may be slow: what waits in it is merged into one delta."""

    def __init__(self, request: Request) -> None:
        self.request = request
        self.aboard = False  # the engine that runs now was told of it
        self.crashes = 0  # engines that died while they had it
        self.ended = False  # a finish or an error is in the mailbox, or was read from it
        self._output = list(request.output)
        self._waiting: list[Delta] = []
        self._error: VilfredoError | None = None
        self._arrival: asyncio.Future[None] | None = None  # what the reader waits for

    def put(self, delta: Delta) -> None:
        self._output.extend(sampled.token for sampled in delta.tokens)
        self._waiting.append(delta)
        self.ended = self.ended or delta.finish is not None
        self._wake()

    def fail(self, error: VilfredoError) -> None:
        """Ends it after what has come already."""
        self._error = error
        self.ended = True
        self._wake()

    def resumed(self) -> Request:
        """The request as a new engine must go on with it."""
        return replace(self.request, output=tuple(self._output))

    async def take(self) -> Delta:
        """Waits for something, and gives all that there is. Raises what it failed with."""
        if not self._waiting and self._error is None:
            self._arrival = asyncio.get_running_loop().create_future()
            await self._arrival
        waiting, self._waiting = self._waiting, []
        if not waiting and self._error is not None:
            raise self._error
        return waiting[0] if len(waiting) == 1 else _merged(waiting)

    def _wake(self) -> None:
        if self._arrival is not None and not self._arrival.done():
            self._arrival.set_result(None)


def _merged(deltas: list[Delta]) -> Delta:
    tokens: tuple[Sampled, ...] = tuple(token for delta in deltas for token in delta.tokens)
    return msgspec.structs.replace(deltas[-1], tokens=tokens)
