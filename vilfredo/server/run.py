"""Runs the application on a socket until it is told to stop, and then lets streams end.

Prints nothing; whoever calls it says what is to be said.
"""

import asyncio
import socket
import sys
from collections.abc import Coroutine
from types import FrameType
from typing import Any, TypeVar

import uvicorn
from starlette.types import ASGIApp

from vilfredo.base.clock import Clock, SystemClock
from vilfredo.base.errors import InvalidInput
from vilfredo.server.gate import Gate

BACKLOG = 2048
GRACE = 30.0  # seconds that running streams get to end
Result = TypeVar("Result")


def bind(host: str, port: int) -> socket.socket:
    """A listening socket; port 0 picks a free one. Done before a model is loaded, so that a port
    in use is told at once. Raises InvalidInput."""
    try:
        family, *_, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        return socket.create_server(address[:2], family=family, backlog=BACKLOG)
    except socket.gaierror as error:
        raise InvalidInput("host", f"{host}: {error.strerror}") from error
    except OSError as error:
        raise InvalidInput("port", f"cannot listen on {host}:{port}: {error.strerror}") from error


def run(main: Coroutine[Any, Any, Result]) -> Result:
    """As asyncio.run, on the faster loop where there is one."""
    if sys.platform == "win32":
        return asyncio.run(main)
    import uvloop

    return uvloop.run(main)


class Server(uvicorn.Server):
    """On the first SIGTERM or Ctrl-C the gate closes and running requests have `grace` seconds to
    end, while new ones are answered that we drain; on the second, they are cut."""

    def __init__(
        self, app: ASGIApp, gate: Gate, clock: Clock | None = None, grace: float = GRACE
    ) -> None:
        super().__init__(
            uvicorn.Config(
                app,
                http="httptools",
                ws="none",
                lifespan="off",
                log_config=None,
                log_level="error",
                access_log=False,
                server_header=False,
                timeout_graceful_shutdown=1,
            )
        )
        self._gate = gate
        self._clock = clock or SystemClock()
        self._grace = grace
        self._deadline: float | None = None

    def drain(self) -> None:
        if self._deadline is not None:
            self.should_exit = self.force_exit = True
        else:
            self._gate.draining = True
            self._deadline = self._clock.now() + self._grace

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        self.drain()

    async def on_tick(self, counter: int) -> bool:
        """uvicorn asks ten times a second whether it is over."""
        over = await super().on_tick(counter)
        if self._deadline is None:
            return over
        return over or self._gate.inside == 0 or self._clock.now() >= self._deadline
