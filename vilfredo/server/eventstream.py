"""A response of server-sent events, which ends the work behind it when the client leaves."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing

from starlette.requests import ClientDisconnect
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from vilfredo.base.errors import VilfredoError
from vilfredo.server.errors import as_api_error, error_body
from vilfredo.server.presence import unless_gone

DONE = b"data: [DONE]\n\n"
WAITING = b": waiting\n\n"  # a comment, which clients pass over
PATIENCE = 10.0  # seconds


def event(data: bytes) -> bytes:
    return b"data: %b\n\n" % data


class EventStream(Response):
    """The status waits for the first event, so that what fails before it is answered as an error.

    If that takes longer than `patience`, the stream begins with comments: else proxies would take
    a long queue or prompt for a dead server. An error after the beginning is the last event.
    """

    media_type = "text/event-stream"

    def __init__(self, events: AsyncGenerator[bytes, None], patience: float = PATIENCE) -> None:
        super().__init__(headers={"cache-control": "no-cache", "x-accel-buffering": "no"})
        del self.headers["content-length"]
        self._events = events
        self._patience = patience
        self._begun = False

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await unless_gone(receive, self._run(send))
        except ClientDisconnect:
            if not self._begun:
                raise

    async def _run(self, send: Send) -> None:
        try:
            async with aclosing(self._events) as events:
                await self._send(send, await self._first(send))
                async for data in events:
                    await self._send(send, data)
        except Exception as error:
            if not self._begun:
                raise
            await self._send(send, event(error_body(as_api_error(error))))
            if not isinstance(error, VilfredoError):
                raise
        await send({"type": "http.response.body", "body": b""})

    async def _first(self, send: Send) -> bytes:
        first = asyncio.ensure_future(anext(self._events))
        try:
            while not (await asyncio.wait({first}, timeout=self._patience))[0]:
                await self._send(send, WAITING)
            return first.result()
        finally:
            first.cancel()
            await asyncio.wait({first})  # or it would still be running when it is closed

    async def _send(self, send: Send, data: bytes) -> None:
        if not self._begun:
            self._begun = True
            await send(
                {
                    "type": "http.response.start",
                    "status": self.status_code,
                    "headers": self.raw_headers,
                }
            )
        await send({"type": "http.response.body", "body": data, "more_body": True})
