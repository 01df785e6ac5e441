"""The engine's own process: `python -m vilfredo.engine.worker FD MODULE:FUNCTION`.

FD is a connected socket, whose first message is the Plan; the function makes a Runner of it. The
process lives as long as the other end of the socket does, and no longer.
"""

import contextlib
import ctypes
import importlib
import signal
import socket
import sys
from collections.abc import Callable
from typing import assert_never

from vilfredo.base.clock import Clock, SystemClock
from vilfredo.base.errors import VilfredoError
from vilfredo.base.plan import Plan
from vilfredo.engine.engine import Engine
from vilfredo.engine.messages import (
    Cancel,
    Command,
    Delta,
    Deltas,
    Died,
    Ready,
    Refused,
    Start,
    Stop,
    Submit,
)
from vilfredo.engine.wire import Inbox, frame
from vilfredo.runner.protocol import Runner

PR_SET_PDEATHSIG = 1  # of linux/prctl.h

Build = Callable[[Plan], Runner]


def serve(connection: socket.socket, build: Build, clock: Clock) -> None:
    """Runs until it is told to stop or the other side is gone. A fault is told as Died."""
    inbox: Inbox[Command] = Inbox(connection, Command)
    try:
        engine = _start(inbox, build, clock)
        connection.sendall(frame(Ready()))
        while _turn(connection, inbox, engine):
            pass
    except (EOFError, ConnectionError):
        return  # nobody is left to be told
    except VilfredoError as error:
        _tell_death(connection, str(error))
    except Exception as error:
        _tell_death(connection, f"{type(error).__name__}: {error}")
        raise  # a fault of ours: its traceback belongs on stderr


def _tell_death(connection: socket.socket, reason: str) -> None:
    with contextlib.suppress(ConnectionError):  # nobody may be left to be told
        connection.sendall(frame(Died(reason)))


def _start(inbox: Inbox[Command], build: Build, clock: Clock) -> Engine:
    (start,) = inbox.take(wait=True)
    if not isinstance(start, Start):
        raise VilfredoError(f"the first message was {type(start).__name__}, not Start")
    return Engine(start.plan, build(start.plan), clock)


def _turn(connection: socket.socket, inbox: Inbox[Command], engine: Engine) -> bool:
    """The commands that have come, then a step: so a cancellation waits for one step at most.

    False once it was told to stop.
    """
    deltas: list[Delta] = []
    for command in inbox.take(wait=not engine.has_work):
        match command:
            case Submit(request=request, accepted=accepted):
                answer = engine.submit(request, accepted)
                if isinstance(answer, Refused):
                    connection.sendall(frame(answer))
                elif answer is not None:
                    deltas.append(answer)
            case Cancel(id=request_id):
                engine.cancel(request_id)
            case Start() | Stop():
                return False
            case never:
                assert_never(never)
    deltas.extend(engine.step())
    connection.sendall(frame(Deltas(tuple(deltas), engine.stats())))
    return True


def _die_with_parent() -> None:
    """Even within a step or while weights are loaded, where nobody sees that the socket closed.

    Elsewhere than on Linux the process ends when it next looks at the socket.
    """
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def main(arguments: list[str]) -> None:
    _die_with_parent()
    descriptor, target = arguments
    module, _, function = target.partition(":")
    build = getattr(importlib.import_module(module), function)
    with socket.socket(fileno=int(descriptor)) as connection:
        serve(connection, build, SystemClock())


if __name__ == "__main__":  # pragma: no cover: it runs in a process of its own
    main(sys.argv[1:])
