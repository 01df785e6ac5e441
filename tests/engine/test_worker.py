import os
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path
from types import SimpleNamespace

import pytest

from vilfredo.base.clock import FakeClock
from vilfredo.base.errors import BadFile
from vilfredo.engine import worker
from vilfredo.engine.messages import (
    Cancel,
    Deltas,
    Died,
    Event,
    Ready,
    Refused,
    Start,
    Stop,
    Submit,
)
from vilfredo.engine.wire import Inbox, frame
from vilfredo.runner.fake import FakeRunner, continuation


class Peer:
    """The other end of a worker that runs in a thread."""

    def __init__(self, build=lambda plan: FakeRunner()):
        self.socket, theirs = socket.socketpair()
        self.socket.settimeout(5)
        self.inbox: Inbox[Event] = Inbox(self.socket, Event)
        self.events: list[Event] = []
        self.fault: BaseException | None = None

        def run():
            try:
                with theirs:
                    worker.serve(theirs, build, FakeClock())
            except Exception as error:
                self.fault = error

        self.thread = threading.Thread(target=run)
        self.thread.start()

    def send(self, *commands):
        self.socket.sendall(b"".join(map(frame, commands)))

    def next(self) -> Event:
        while not self.events:
            self.events = self.inbox.take(wait=True)
        return self.events.pop(0)

    def join(self):
        self.thread.join(5)
        assert not self.thread.is_alive()


def test_a_request_is_streamed_and_the_stop_obeyed(make_plan, make_request):
    peer = Peer()
    peer.send(Start(make_plan()))
    assert peer.next() == Ready()
    request = make_request()
    peer.send(Submit(request))
    tokens, finish = [], None
    while finish is None:
        event = peer.next()
        assert isinstance(event, Deltas)
        for delta in event.deltas:
            tokens.extend(sampled.token for sampled in delta.tokens)
            finish = delta.finish
    assert tokens == continuation(request.prompt, 5)
    peer.send(Stop())
    peer.join()


def test_refusals_and_errors_are_told(make_plan, make_request):
    peer = Peer()
    peer.send(Start(make_plan(max_waiting=1)))
    peer.next()
    peer.send(Submit(make_request()), Submit(make_request(id="second")), Submit(make_request(())))
    refused = peer.next()
    assert isinstance(refused, Refused)
    assert refused.id == "second"
    deltas = peer.next()
    assert isinstance(deltas, Deltas)
    assert deltas.deltas[0].finish == "error"
    peer.socket.close()
    peer.join()


def test_a_cancelled_request_is_gone_with_the_next_message(make_plan, make_request):
    peer = Peer(lambda plan: FakeRunner(lambda step: time.sleep(0.01)))
    peer.send(Start(make_plan()))
    peer.next()
    peer.send(Submit(make_request(id="a", max_tokens=60)))
    peer.next()
    peer.send(Cancel("a"))
    for _ in range(10):
        event = peer.next()
        assert isinstance(event, Deltas)
        if event.stats.running == 0:
            break
    assert event.stats.blocks_used == 0
    peer.socket.close()
    peer.join()


def test_what_cannot_be_built_is_told(make_plan):
    def build(plan):
        raise BadFile("m", "is cut short")

    peer = Peer(build)
    peer.send(Start(make_plan()))
    assert peer.next() == Died("m: is cut short")
    peer.join()
    assert peer.fault is None


def test_a_fault_of_ours_is_told_and_keeps_its_traceback(make_plan):
    def build(plan):
        raise KeyError("x")

    peer = Peer(build)
    peer.send(Start(make_plan()))
    assert peer.next() == Died("KeyError: 'x'")
    peer.join()
    assert isinstance(peer.fault, KeyError)


def test_the_first_message_must_be_a_start():
    peer = Peer()
    peer.send(Stop())
    assert peer.next() == Died("the first message was Stop, not Start")
    peer.join()


def test_main_serves_the_descriptor_that_it_is_given(monkeypatch, make_plan):
    monkeypatch.setattr(worker, "_die_with_parent", lambda: None)  # not the test's own process
    ours, theirs = socket.socketpair()
    ours.sendall(frame(Start(make_plan())))
    ours.shutdown(socket.SHUT_WR)
    worker.main([str(theirs.detach()), "vilfredo.runner.fake:FakeRunner"])
    assert Inbox(ours, Event).take(wait=True) == [Ready()]
    ours.close()


@pytest.mark.parametrize(("system", "calls"), [("linux", [(1, signal.SIGKILL)]), ("darwin", [])])
def test_only_linux_is_asked_for_a_death_with_the_parent(monkeypatch, system, calls):
    called = []
    library = SimpleNamespace(prctl=lambda *arguments: called.append(arguments))
    monkeypatch.setattr(worker.ctypes, "CDLL", lambda name: library)
    monkeypatch.setattr(worker.sys, "platform", system)
    worker._die_with_parent()
    assert called == calls


def test_a_fault_that_nobody_is_left_to_hear_of_is_still_the_fault(make_plan):
    def build(plan):
        peer.socket.close()
        raise KeyError("x")

    peer = Peer(build)
    peer.send(Start(make_plan()))
    peer.join()
    assert isinstance(peer.fault, KeyError)


def test_what_cannot_be_read_is_told_as_a_fault(make_plan):
    peer = Peer()
    peer.send(Start(make_plan()))
    assert peer.next() == Ready()
    peer.send("no command")
    died = peer.next()
    assert isinstance(died, Died)
    assert "ValidationError" in died.reason
    peer.join()


@pytest.mark.parametrize("seconds", [0, 60])
def test_a_worker_dies_with_its_parent(tmp_path, make_plan, seconds):
    """The parent is killed in a way that it cannot notice; the worker must notice by itself, even
    while it builds its runner."""
    (tmp_path / "tests_engine_build.py").write_text(
        "import pathlib, time\n"
        "from vilfredo.runner.fake import FakeRunner\n"
        "def build(plan):\n"
        f"    pathlib.Path({str(tmp_path / 'builds')!r}).touch()\n"
        f"    time.sleep({seconds})\n"
        "    return FakeRunner()\n"
    )
    script = tmp_path / "parent.py"
    script.write_text(
        "import asyncio, pathlib, time\n"
        "from vilfredo.base.plan import Plan\n"
        "from vilfredo.engine.link import ProcessLink\n"
        "from vilfredo.engine.messages import Start\n"
        "async def main():\n"
        "    link = await ProcessLink.launch('tests_engine_build:build')\n"
        f"    link.send(Start({make_plan()!r}))\n"
        f"    while not pathlib.Path({str(tmp_path / 'builds')!r}).exists():\n"
        "        await asyncio.sleep(0.01)\n"
        "    print(link.process.pid, flush=True)\n"
        "    time.sleep(60)\n"
        "asyncio.run(main())\n"
    )
    parent = subprocess.Popen(
        [sys.executable, str(script)],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
    )
    assert parent.stdout is not None
    child = int(parent.stdout.readline())
    parent.send_signal(signal.SIGKILL)
    parent.wait()
    for _ in range(500):
        if not _runs(child):
            break
        time.sleep(0.01)
    assert not _runs(child)
    parent.stdout.close()


def _runs(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"


def test_the_worker_starts_without_the_server_or_the_text():
    code = (
        "import sys, vilfredo.engine.worker\n"
        "bad = {'starlette', 'uvicorn', 'tokenizers', 'jinja2', 'typer'} & set(sys.modules)\n"
        "sys.exit(', '.join(bad) or 0)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
