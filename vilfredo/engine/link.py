"""A connection to an engine in another process, and how that process is started and ended."""

import asyncio
import contextlib
import socket
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Protocol

from vilfredo.engine.messages import Command, Event
from vilfredo.engine.wire import Frames, frame

BUILD = "vilfredo.engine.assemble:build_runner"


class Link(Protocol):
    def send(self, command: Command) -> None: ...

    def events(self) -> AsyncIterator[Event]:
        """Ends when the other side is gone."""
        ...

    async def close(self) -> None:
        """Ends the other side, if need be by force."""
        ...


Launch = Callable[[], Awaitable[Link]]


class SocketLink:
    """Messages over a socket, whoever is at its other end."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    @classmethod
    async def connect(cls, connection: socket.socket) -> "SocketLink":
        return cls(*await asyncio.open_connection(sock=connection))

    def send(self, command: Command) -> None:
        self._writer.write(frame(command))

    async def events(self) -> AsyncIterator[Event]:
        frames: Frames[Event] = Frames(Event)
        while True:
            try:
                data = await self._reader.read(1 << 16)
            except ConnectionError:
                return
            if not data:
                return
            for event in frames.feed(data):
                yield event

    async def close(self) -> None:
        self._writer.close()
        with contextlib.suppress(ConnectionError):
            await self._writer.wait_closed()


class ProcessLink:
    """A worker of our own: it ends when its socket is closed, and by force where it does not."""

    GRACE = 5.0  # seconds: a step may have to end first

    def __init__(self, link: SocketLink, process: subprocess.Popen[bytes]) -> None:
        self._link = link
        self.process = process
        self.send = link.send
        self.events = link.events

    @classmethod
    async def launch(cls, build: str = BUILD) -> "ProcessLink":
        """`build` is the "module:function" that makes a Runner of a Plan."""
        ours, theirs = socket.socketpair()
        with theirs:
            process = subprocess.Popen(
                [sys.executable, "-m", "vilfredo.engine.worker", str(theirs.fileno()), build],
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                # Ctrl-C reaches every process of the terminal's session; it is for us alone.
                start_new_session=True,
            )
        return cls(await SocketLink.connect(ours), process)

    async def close(self) -> None:
        await self._link.close()
        try:
            await asyncio.to_thread(self.process.wait, self.GRACE)
        except subprocess.TimeoutExpired:
            self.process.kill()
            await asyncio.to_thread(self.process.wait)
