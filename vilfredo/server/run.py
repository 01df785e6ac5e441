"""Runs the server on a socket until it is told to stop, and then lets running requests end.

Prints nothing; whoever calls it says what is to be said.
"""

import asyncio
import math
import os
import socket
import sys
from collections.abc import Awaitable, Callable, Coroutine
from types import FrameType
from typing import Any, TypeVar

import uvicorn

from vilfredo.base.errors import InvalidInput
from vilfredo.server.app import build_app
from vilfredo.server.service import Service

BACKLOG = 2048
GRACE = 30.0  # seconds that running requests get to end
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
        reason = os.strerror(error.errno or 0)  # error.strerror says the address once more
        raise InvalidInput("port", f"cannot listen on {host}:{port}: {reason}") from error


def run(main: Coroutine[Any, Any, Result]) -> Result:
    """As asyncio.run, on the faster loop where there is one."""
    if sys.platform == "win32":
        return asyncio.run(main)
    import uvloop

    return uvloop.run(main)


class Server(uvicorn.Server):
    """`await Server(service, cut).serve([bind(host, port)])` returns when all is over.

    On the first SIGTERM or Ctrl-C (or `drain`) running requests have `grace` seconds to end, while
    new ones are told to go elsewhere. When these are over, or on the second signal, `cut` is to
    make the door end what still runs with an error, which is the last that its client hears.
    """

    def __init__(
        self, service: Service, cut: Callable[[], Awaitable[None]], grace: float = GRACE
    ) -> None:
        super().__init__(
            uvicorn.Config(
                build_app(service),
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
        self._gate = service.gate
        self._clock = service.clock
        self._cut = cut
        self._grace = grace
        self._deadline = math.inf

    def drain(self) -> None:
        now = self._clock.now()
        self._deadline = now if self._gate.draining else now + self._grace
        self._gate.draining = True

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        self.drain()

    async def on_tick(self, counter: int) -> bool:
        """uvicorn asks ten times a second whether it is over."""
        over = await super().on_tick(counter)
        if not self._gate.draining:
            return over
        if self._gate.inside:
            if self._clock.now() < self._deadline:
                return False
            await self._cut()
        return True
