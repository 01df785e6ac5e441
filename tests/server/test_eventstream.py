import asyncio
from collections.abc import AsyncGenerator
from typing import Any

import pytest
from starlette.requests import ClientDisconnect

from vilfredo.server.eventstream import DONE, WAITING, EventStream


class Connection:
    """A client's side: `gone` makes it leave."""

    def __init__(self) -> None:
        self.gone = asyncio.Event()
        self.sent: list[dict[str, Any]] = []
        self._first = True

    async def receive(self) -> dict[str, Any]:
        if self._first:
            self._first = False
            return {"type": "http.request", "body": b""}
        await self.gone.wait()
        return {"type": "http.disconnect"}

    async def send(self, message: dict[str, Any]) -> None:
        self.sent.append(message)

    @property
    def bodies(self) -> list[bytes]:
        return [message["body"] for message in self.sent[1:]]


class Events:
    """Events that come when they may, and know whether they were closed."""

    def __init__(self) -> None:
        self.may = asyncio.Event()
        self.closed = False

    async def stream(self) -> AsyncGenerator[bytes, None]:
        try:
            await self.may.wait()
            yield b"one"
            yield DONE
            await asyncio.Event().wait()
        finally:
            self.closed = True


async def begin(response: EventStream, connection: Connection) -> "asyncio.Task[None]":
    task = asyncio.create_task(response({"type": "http"}, connection.receive, connection.send))
    for _ in range(10):
        await asyncio.sleep(0)
    return task


async def test_nothing_is_sent_before_the_first_event() -> None:
    events, connection = Events(), Connection()
    task = await begin(EventStream(events.stream()), connection)
    assert connection.sent == []
    connection.gone.set()
    with pytest.raises(ClientDisconnect):
        await task
    assert events.closed
    assert connection.sent == []


async def test_a_client_that_leaves_ends_the_stream() -> None:
    events, connection = Events(), Connection()
    events.may.set()
    task = await begin(EventStream(events.stream()), connection)
    assert connection.bodies == [b"one", DONE]
    connection.gone.set()
    await task
    assert events.closed


async def test_a_long_wait_is_filled_with_comments() -> None:
    events, connection = Events(), Connection()
    task = await begin(EventStream(events.stream(), patience=0), connection)
    while len(connection.bodies) < 2:
        await asyncio.sleep(0)
    assert set(connection.bodies) == {WAITING}
    assert connection.sent[0]["status"] == 200
    events.may.set()
    while DONE not in connection.bodies:
        await asyncio.sleep(0)
    connection.gone.set()
    await task


async def test_a_server_that_stops_closes_the_stream() -> None:
    events, connection = Events(), Connection()
    task = await begin(EventStream(events.stream()), connection)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert events.closed
