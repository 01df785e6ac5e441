"""A server as a user starts and ends it."""

import asyncio
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from vilfredo.engine.link import ProcessLink
from vilfredo.engine.messages import Command, Ready
from vilfredo.server import run

WAIT = 60.0  # seconds until a test gives up; never a claim of speed


class Mortal:
    """A link to an engine that is ready and dies as soon as somebody is served."""

    def __init__(self, announced: Iterator[object]) -> None:
        self._announced = announced

    def send(self, command: Command) -> None: ...

    async def events(self):
        yield Ready()
        while not next(self._announced):
            await asyncio.sleep(0.01)

    async def close(self) -> None: ...


def test_a_server_whose_engine_is_given_up_on_ends(vilfredo, monkeypatch, tiny_gguf):
    servers, launched = [], []

    def announced() -> Iterator[object]:
        while True:
            yield servers and servers[0].started

    async def launch():
        launched.append(None)
        if len(launched) > 1:
            raise RuntimeError("no second engine")
        return Mortal(announced())

    class Server(run.Server):
        def __init__(self, *arguments, **more) -> None:
            super().__init__(*arguments, **more)
            servers.append(self)

    monkeypatch.setattr(ProcessLink, "launch", launch)
    monkeypatch.setattr(run, "Server", Server)
    ended = vilfredo("serve", tiny_gguf, "--port", "0", "--table", "reference")
    assert ended.code == 1
    assert "Serving tiny on http://127.0.0.1:" in ended.out
    assert "Stopped." not in ended.out
    assert ended.err.splitlines()[-1] == (
        "vilfredo: no engine will be started again: RuntimeError: no second engine"
    )


def test_an_engine_that_cannot_start_ends_it_with_the_reason(vilfredo, monkeypatch, tiny_gguf):
    async def launch():
        raise OSError("no more processes")

    monkeypatch.setattr(ProcessLink, "launch", launch)
    ended = vilfredo("serve", tiny_gguf, "--port", "0", "--table", "reference")
    assert ended.code == 1
    assert "Serving" not in ended.out
    assert ended.err == "vilfredo: the engine's process cannot be started: no more processes\n"


@contextmanager
def serving() -> Iterator[tuple[subprocess.Popen[str], str]]:
    """The process, and the line that it says to paste."""
    command = [sys.executable, "-m", "vilfredo", "serve", "smollm2-135m", "--port", "0"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        said = ""
        while "  -d '" not in said:
            line = process.stdout.readline()
            assert line, said
            said += line
        yield process, said[said.index("curl") :]
    finally:
        process.kill()
        process.communicate()


def workers(parent: int) -> list[int]:
    return [
        int(each) for each in Path(f"/proc/{parent}/task/{parent}/children").read_text().split()
    ]


@pytest.mark.model
@pytest.mark.skipif(not shutil.which("curl"), reason="needs curl")
@pytest.mark.skipif(not Path(f"/proc/self/task/{os.getpid()}/children").exists(), reason="Linux")
def test_the_printed_line_works_and_ctrl_c_leaves_nothing_behind(model_path):
    model_path("smollm2-135m")
    for _ in range(2):  # the second start right after the first
        with serving() as (process, line):
            (worker,) = workers(process.pid)
            answer = subprocess.run(line, shell=True, capture_output=True, text=True, timeout=WAIT)
            assert len(re.findall('"content":"', answer.stdout)) > 2
            assert answer.stdout.endswith("data: [DONE]\n\n")
            process.send_signal(signal.SIGINT)
            said, _ = process.communicate(timeout=WAIT)
            assert (process.returncode, said.strip()) == (0, "Stopped.")
            with pytest.raises(ProcessLookupError):
                os.kill(worker, 0)
