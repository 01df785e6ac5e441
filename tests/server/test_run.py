"""The openai SDK, unchanged, against a real server; and how that server starts and stops."""

import asyncio
import signal
import socket
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import aclosing, contextmanager
from typing import Any

import openai
import pytest

from vilfredo.base.clock import FakeClock
from vilfredo.base.errors import EngineDied, InvalidInput, Overloaded
from vilfredo.core.request import Request
from vilfredo.engine.fake import Answer, FakeDoor, echo
from vilfredo.engine.messages import Delta
from vilfredo.server.run import Server, bind, run
from vilfredo.server.service import Service

WAIT = 10.0  # seconds until a test gives up


def until(condition: Callable[[], object]) -> None:
    deadline = time.monotonic() + WAIT
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.002)


class StoppableDoor(FakeDoor):
    """What hangs ends with an error once it is stopped, as an engine's requests do."""

    def __init__(self, answer: Callable[[Request], Answer] = echo) -> None:
        super().__init__(answer)
        self.stopped = asyncio.Event()

    async def stop(self) -> None:
        self.stopped.set()

    async def submit(self, request: Request) -> AsyncIterator[Delta]:
        async with aclosing(super().submit(request)) as deltas:  # type: ignore[type-var]
            while True:
                coming = asyncio.ensure_future(anext(deltas, None))
                stopping = asyncio.create_task(self.stopped.wait())
                try:
                    await asyncio.wait({coming, stopping}, return_when=asyncio.FIRST_COMPLETED)
                    if not coming.done():
                        raise EngineDied("the engine was stopped")
                    delta = coming.result()
                finally:
                    stopping.cancel()
                    coming.cancel()
                    await asyncio.wait({coming})
                if delta is None:
                    return
                yield delta


class Running:
    """A server in a thread."""

    def __init__(self, service: Service) -> None:
        assert isinstance(service.door, StoppableDoor)
        self.door = service.door
        self.service = service
        self._socket = bind("127.0.0.1", 0)
        self.port: int = self._socket.getsockname()[1]
        self.server = Server(service, self.door.stop)
        self.thread = threading.Thread(target=lambda: run(self.server.serve([self._socket])))

    def client(self) -> openai.OpenAI:
        url = f"http://127.0.0.1:{self.port}/v1"
        return openai.OpenAI(base_url=url, api_key="none", max_retries=0)

    def send(self, body: str) -> socket.socket:
        """Posts a completion over a socket of its own."""
        connection = socket.create_connection(("127.0.0.1", self.port), WAIT)
        head = f"POST /v1/completions HTTP/1.1\r\nHost: x\r\nContent-Length: {len(body)}\r\n\r\n"
        connection.sendall((head + body).encode())
        return connection

    def join(self) -> None:
        self.thread.join(WAIT)
        assert not self.thread.is_alive()


@contextmanager
def running(service: Service) -> Iterator[Running]:
    started = Running(service)
    started.thread.start()
    try:
        until(lambda: started.server.started)
        yield started
    finally:
        started.server.drain()
        started.server.drain()
        started.join()


@pytest.fixture(scope="module")
def shared(make_service) -> Iterator[Running]:
    with running(make_service(door=StoppableDoor())) as started:
        yield started


MESSAGES: Any = [{"role": "user", "content": "hi"}]


def test_sdk_chat(shared) -> None:
    shared.door.answer = lambda request: Answer((*"Hé".encode(), 256), cached=3)
    client = shared.client()
    whole = client.chat.completions.create(model="tiny", messages=MESSAGES, logprobs=True)
    assert whole.choices[0].message.content == "Hé"
    assert whole.choices[0].finish_reason == "stop"
    assert whole.choices[0].logprobs.content[0].logprob == -1.0
    assert whole.usage.completion_tokens == 4
    assert whole.usage.prompt_tokens_details.cached_tokens == 3
    with client.chat.completions.create(
        model="tiny", messages=MESSAGES, stream=True, stream_options={"include_usage": True}
    ) as stream:
        chunks = list(stream)
    texts = [chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices]
    assert "".join(texts) == "Hé"
    assert chunks[-1].usage == whole.usage


def test_sdk_completion(shared) -> None:
    shared.door.answer = lambda request: Answer((*b"ok", 256))
    client = shared.client()
    whole = client.completions.create(model="tiny", prompt=["a", "b"], logprobs=1)
    assert [choice.text for choice in whole.choices] == ["ok", "ok"]
    assert whole.choices[0].logprobs.tokens == ["o", "k", "<end>"]
    chunks = list(client.completions.create(model="tiny", prompt="a", stream=True))
    assert "".join(chunk.choices[0].text for chunk in chunks) == "ok"
    assert [model.id for model in client.models.list()] == ["tiny"]
    assert client.models.retrieve("tiny").id == "tiny"


def test_sdk_errors(shared) -> None:
    client = shared.client()
    complete = client.completions.create
    with pytest.raises(openai.BadRequestError, match="max_tokens") as caught:
        complete(model="tiny", prompt="a", max_tokens=0)
    assert caught.value.param == "max_tokens"
    assert caught.value.request_id.startswith("req-")
    with pytest.raises(openai.NotFoundError, match="'tiny'"):
        complete(model="other", prompt="a")
    shared.door.answer = lambda request: Answer(error=Overloaded("full", 3.5))
    for stream in (False, True):
        with pytest.raises(openai.InternalServerError, match="full") as refused:
            complete(model="tiny", prompt="a", stream=stream)
        assert refused.value.status_code == 503
        assert refused.value.response.headers["retry-after"] == "4"
        assert refused.value.response.headers["x-vilfredo-reason"] == "queue_full"
    shared.door.answer = lambda request: Answer(tuple(b"ab"), "error", "not finite")
    with pytest.raises(openai.InternalServerError, match="not finite"):
        complete(model="tiny", prompt="a")
    stream = complete(model="tiny", prompt="a", stream=True)
    assert next(stream).choices[0].text == "a"
    with pytest.raises(openai.APIError, match="not finite"):
        list(stream)


@pytest.mark.parametrize("stream", ["true", "false"])
def test_a_client_that_leaves_is_cancelled(shared, stream) -> None:
    shared.door.answer = lambda request: Answer(tuple(b"ab"), hangs=True)
    before = len(shared.door.requests)
    body = f'{{"model": "tiny", "prompt": "a", "n": 2, "stream": {stream}}}'
    with shared.send(body) as connection:
        if stream == "true":
            assert b"HTTP/1.1 200" in connection.recv(1000)
        until(lambda: len(shared.door.requests) == before + 2)
    gone = {request.id for request in shared.door.requests[before:]}
    until(lambda: gone <= set(shared.door.cancelled))
    until(lambda: shared.service.gate.inside == 0)


def test_draining_lets_streams_end(make_service) -> None:
    door = StoppableDoor(lambda request: Answer(tuple(b"ab"), hangs=True))
    with running(make_service(door=door)) as started:
        stream = started.client().completions.create(model="tiny", prompt="a", stream=True)
        assert next(stream).choices[0].text == "a"
        started.server.handle_exit(signal.SIGTERM, None)
        with pytest.raises(openai.InternalServerError) as caught:
            started.client().completions.create(model="tiny", prompt="a")
        assert caught.value.response.headers["x-vilfredo-reason"] == "draining"
        assert started.thread.is_alive()
        started.service.clock.advance(31)  # over the grace
        assert next(stream).choices[0].text == "b"
        with pytest.raises(openai.APIError, match="the engine was stopped"):
            next(stream)
        started.join()


def test_a_second_signal_cuts_what_runs(make_service) -> None:
    door = StoppableDoor(lambda request: Answer(hangs=True))
    with running(make_service(door=door)) as started:
        with started.send('{"model": "tiny", "prompt": "a"}') as connection:
            until(lambda: door.requests)
            started.server.handle_exit(signal.SIGINT, None)
            started.server.handle_exit(signal.SIGINT, None)
            assert b"HTTP/1.1 503" in connection.recv(1000)
        started.join()


def test_a_port_in_use_or_a_host_that_is_none() -> None:
    with bind("127.0.0.1", 0) as taken, pytest.raises(InvalidInput, match="port: cannot listen"):
        bind("127.0.0.1", taken.getsockname()[1])
    with pytest.raises(InvalidInput, match="host: "):
        bind("no host has such a name", 0)


def test_where_there_is_no_faster_loop(monkeypatch) -> None:
    async def loop() -> str:
        return type(asyncio.get_running_loop()).__module__

    assert run(loop()).startswith("uvloop")
    monkeypatch.setattr("sys.platform", "win32")
    assert run(loop()).startswith("asyncio")


async def test_while_it_drains_it_waits_for_those_inside_until_their_time_is_up(make_service):
    clock = FakeClock()
    service, cuts = make_service(clock=clock), []

    async def cut() -> None:
        cuts.append(clock.now())

    server = Server(service, cut, grace=30)
    with service.gate.visit():
        assert not await server.on_tick(0)
        server.drain()
        assert not await server.on_tick(0)
        clock.advance(30)
        assert await server.on_tick(0)
        assert cuts == [30]
    assert await server.on_tick(0)
    assert cuts == [30]
