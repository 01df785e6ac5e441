"""Small plans, requests whose outcome the fake runner foretells, and engines in threads."""

import asyncio
import contextlib
import itertools
import socket
import threading
from collections.abc import Callable

import pytest

from vilfredo.base.clock import FakeClock
from vilfredo.base.plan import Plan
from vilfredo.core.request import Limits, Request
from vilfredo.engine.link import SocketLink
from vilfredo.engine.worker import serve
from vilfredo.runner.protocol import Runner

_ids = itertools.count()


def _plan(**changes) -> Plan:
    numbers = {
        "threads": 1,
        "context": 64,
        "block_tokens": 4,
        "blocks": 64,
        "max_sequences": 8,
        "token_budget": 16,
        "max_waiting": 100,
        "max_waiting_tokens": 10_000,
    }
    return Plan(model="m", served_name="m", table="reference", **(numbers | changes))


def _request(prompt=(1, 2, 3), max_tokens=5, **changes) -> Request:
    identity = changes.pop("id", f"r{next(_ids)}")
    return Request(identity, tuple(prompt), Limits(max_tokens), **changes)


@pytest.fixture
def make_plan() -> Callable[..., Plan]:
    return _plan


@pytest.fixture
def make_request() -> Callable[..., Request]:
    return _request


class ThreadLauncher:
    """Launches engines that run in threads of this process, over real sockets.

    `builds` are used in turn, the last one again and again.
    """

    def __init__(self, *builds: Callable[[Plan], Runner]) -> None:
        self.builds = list(builds)
        self.launched = 0
        self.threads: list[threading.Thread] = []
        self.ours: list[socket.socket] = []

    async def __call__(self) -> SocketLink:
        build = self.builds[min(self.launched, len(self.builds) - 1)]
        self.launched += 1
        ours, theirs = socket.socketpair()
        self.ours.append(ours)

        def run() -> None:
            with theirs, contextlib.suppress(BaseException):  # as a process that crashes
                serve(theirs, build, FakeClock())

        thread = threading.Thread(target=run)
        thread.start()
        self.threads.append(thread)
        return await SocketLink.connect(ours)

    async def join(self) -> None:
        for thread in self.threads:
            await asyncio.to_thread(thread.join, 5)
            assert not thread.is_alive()


@pytest.fixture
def launcher() -> type[ThreadLauncher]:
    return ThreadLauncher
