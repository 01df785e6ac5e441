"""The door to an engine in another process. It outlives that process: when the engine dies, a new
one is started and goes on with every accepted request from the tokens given out so far."""

import asyncio
from collections.abc import AsyncIterator
from typing import assert_never

from vilfredo.base.clock import Clock
from vilfredo.base.errors import EngineDied, InvalidInput, Overloaded
from vilfredo.base.plan import Plan
from vilfredo.core.request import Request
from vilfredo.engine.door import Health
from vilfredo.engine.flight import Flight
from vilfredo.engine.link import Launch, Link
from vilfredo.engine.messages import (
    Cancel,
    Delta,
    Deltas,
    Died,
    Ready,
    Refused,
    Start,
    Stats,
    Submit,
)
from vilfredo.engine.supervisor import Patience, Supervisor
from vilfredo.engine.totals import Totals

STALL = 60.0  # seconds without a message, while there is work, that mean the engine hangs


class EngineClient:
    """Implements Door. Everything here runs on one event loop."""

    def __init__(
        self,
        plan: Plan,
        launch: Launch,
        clock: Clock,
        patience: Patience | None = None,
        stall: float = STALL,
    ) -> None:
        self._plan = plan
        self._launch = launch
        self._clock = clock
        self._patience = patience or Patience()
        self._supervisor = Supervisor(self._patience)
        self._flights: dict[str, Flight] = {}  # in the order of their arrival
        self._totals = Totals(plan.blocks)
        self._link: Link | None = None  # while an engine is ready
        self._ready = asyncio.Event()
        self._dead: str | None = None  # why there will be no engine any more
        self._stall = stall
        self._progress = clock.now()  # when a message came last or, if later, work began
        self._keeper: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Returns when requests are taken; raises EngineDied with the reason if that fails."""
        self._keeper = asyncio.create_task(self._keep())
        ready = asyncio.create_task(self._ready.wait())
        await asyncio.wait({self._keeper, ready}, return_when=asyncio.FIRST_COMPLETED)
        ready.cancel()
        if self._dead is not None:
            raise EngineDied(self._dead)

    async def died(self) -> None:
        """Raises EngineDied once the started engine is given up on; returns if it is stopped."""
        assert self._keeper is not None
        await asyncio.wait({self._keeper})
        if not self._keeper.cancelled():
            raise EngineDied(f"no engine will be started again: {self._dead}")

    async def stop(self) -> None:
        """Ends the engine, and with an error what is still in flight."""
        if self._keeper is not None:
            self._keeper.cancel()
            await asyncio.wait({self._keeper})
        self._give_up("the engine was stopped")

    async def submit(self, request: Request) -> AsyncIterator[Delta]:
        """As in Door. An id is for one request ever: what still comes for one that was cancelled
        must not reach another."""
        if request.id in self._flights:
            raise InvalidInput("id", f"{request.id!r} is already in use")
        if self._dead is not None:
            raise EngineDied(self._dead)
        if not self._has_work:
            self._progress = self._clock.now()
        flight = self._flights[request.id] = Flight(request)
        try:
            self._board(flight)
            while True:
                delta = await flight.take()
                yield delta
                if delta.finish is not None:
                    return
        finally:
            del self._flights[request.id]
            if not flight.ended and self._link is not None:
                self._link.send(Cancel(request.id))

    def stats(self) -> Stats:
        return self._totals.now

    def health(self) -> Health:
        if self._dead is not None:
            return Health(False, False, False, self._dead)
        if self._link is None:
            return Health(False, False, False, "the engine is starting")
        silence = self._clock.now() - self._progress
        if self._has_work and silence > self._stall:
            return Health(True, True, False, f"no step has ended for {silence:.0f} s")
        return Health(True, True, True)

    @property
    def _has_work(self) -> bool:
        """Whether the engine owes something; a reader that is behind with what came does not."""
        return any(not flight.ended for flight in self._flights.values())

    def _board(self, flight: Flight) -> None:
        """While no engine is ready nothing is sent: the next one is told what is in flight."""
        if self._link is None:
            return
        try:
            self._link.send(Submit(flight.resumed(), accepted=flight.crashes > 0))
            flight.aboard = True
        except (OverflowError, ValueError) as error:  # an integer or a text beyond MessagePack
            flight.fail(InvalidInput("request", f"cannot be told to an engine: {error}"))

    async def _keep(self) -> None:
        """Keeps an engine running until that is pointless."""
        try:
            while True:
                reason, was_ready = await self._live()
                delay = self._supervisor.delay(self._clock.now(), was_ready)
                if delay is None:
                    self._give_up(reason)
                    return
                self._count_crash(reason)
                await asyncio.sleep(delay)
        except Exception as error:
            self._give_up(f"{type(error).__name__}: {error}")
            raise  # a fault of ours: its traceback belongs on stderr

    async def _live(self) -> tuple[str, bool]:
        """One engine's life: why it ended, and whether it ever was ready."""
        try:
            link = await self._launch()
        except OSError as error:
            return f"the engine's process cannot be started: {error}", False
        reason = "the engine's process ended"
        try:
            link.send(Start(self._plan))
            async for event in link.events():
                if isinstance(event, Died):
                    reason = event.reason
                else:
                    self._take(event, link)
            return reason, self._link is not None
        finally:
            self._link = None
            self._ready.clear()
            self._totals.engine_died()
            await link.close()

    def _take(self, event: Ready | Deltas | Refused, link: Link) -> None:
        self._progress = self._clock.now()
        match event:
            case Ready():
                self._link = link
                self._ready.set()
                for flight in self._flights.values():
                    if not flight.ended:
                        self._board(flight)
            case Deltas(deltas=deltas, stats=stats):
                self._totals.take(stats)
                for delta in deltas:
                    flight = self._flights.get(delta.id)
                    if flight is not None:  # else its reader has left
                        flight.put(delta)
            case Refused(id=request_id, reason=reason, retry_after=retry_after):
                flight = self._flights.get(request_id)
                if flight is not None:
                    flight.fail(Overloaded(reason, retry_after))
            case never:
                assert_never(never)

    def _count_crash(self, reason: str) -> None:
        """A request that several engines died with may be what kills them: it ends."""
        for flight in self._flights.values():
            if not flight.aboard:
                continue  # it came when that engine was dead, or not ready yet
            flight.aboard = False
            flight.crashes += 1
            if flight.crashes >= self._patience.crashes and not flight.ended:
                flight.fail(
                    EngineDied(
                        f"the engine died {flight.crashes} times while it had this request, "
                        f"at last because {reason}"
                    )
                )

    def _give_up(self, reason: str) -> None:
        self._dead = reason
        for flight in self._flights.values():
            if not flight.ended:
                flight.fail(EngineDied(reason))
