"""A model of bytes behind a door that answers as it is told, served over ASGI without sockets."""

import json
from collections.abc import Callable, Mapping, Sequence
from random import Random
from typing import Any

import httpx
import pytest
from prometheus_client.parser import text_string_to_metric_families

from vilfredo.base.clock import FakeClock
from vilfredo.base.errors import InvalidInput
from vilfredo.engine.fake import Answer, FakeDoor
from vilfredo.server.app import build_app
from vilfredo.server.service import Service

END, START, VOCABULARY = 256, 257, 258


class Bytes:
    """A token a byte, and two control tokens."""

    vocabulary = VOCABULARY
    bos: int | None = None
    ends = frozenset({END})

    def encode(self, text: str, specials: bool = False) -> list[int]:
        if "\x00" in text:
            raise InvalidInput("text", "holds a zero byte")
        return list(text.encode())

    def piece(self, token: int) -> bytes:
        return bytes([token]) if token < 256 else b""

    def name(self, token: int) -> str:
        return {END: "<end>", START: "<start>"}.get(token) or chr(token)

    def decode(self, tokens: Sequence[int]) -> str:
        return b"".join(map(self.piece, tokens)).decode("utf-8", "replace")


class Lines:
    """A template that writes a line for each message."""

    def __init__(self) -> None:
        self.seen: list[Mapping[str, Any]] = []

    def encode(self, messages: Sequence[Mapping[str, Any]]) -> list[int]:
        self.seen = list(messages)
        lines = [f"{each['role']}:{each.get('content')}\n" for each in messages]
        return [START, *"".join(lines).encode()]


def text_answer(text: str | bytes, **more: Any) -> Answer:
    """Ends as told, or with the model's end token."""
    data = text.encode() if isinstance(text, str) else text
    return Answer((*data, *(() if more.keys() & {"finish", "error", "hangs"} else (END,))), **more)


@pytest.fixture
def door() -> FakeDoor:
    return FakeDoor(lambda request: text_answer("Hello"))


@pytest.fixture
def say(door: FakeDoor) -> Callable[..., None]:
    """Makes the door answer every request by this text."""

    def change(text: str | bytes, **more: Any) -> None:
        door.answer = lambda request: text_answer(text, **more)

    return change


@pytest.fixture(scope="session")
def make_service() -> Callable[..., Service]:
    def make(**changes: Any) -> Service:
        facts: dict[str, Any] = {
            "served_name": "tiny",
            "tokenizer": Bytes(),
            "template": Lines(),
            "door": FakeDoor(lambda request: text_answer("Hello")),
            "context": 200,
            "vocabulary": VOCABULARY,
            "created": 1_700_000_000,
            "clock": FakeClock(),
            "wall": lambda: 1_800_000_000.5,
            "random": Random(0),
        }
        return Service(**facts | changes)

    return make


@pytest.fixture
def service(make_service: Callable[..., Service], door: FakeDoor) -> Service:
    return make_service(door=door)


class Client:
    """Speaks to an app over ASGI, without sockets."""

    def __init__(self, service: Service) -> None:
        transport = httpx.ASGITransport(build_app(service), raise_app_exceptions=False)
        self.http = httpx.AsyncClient(transport=transport, base_url="http://test")

    async def get(self, path: str, **headers: str) -> httpx.Response:
        return await self.http.get(path, headers=headers)

    async def chat(self, **fields: Any) -> httpx.Response:
        body = {"model": "tiny", "messages": [{"role": "user", "content": "hi"}], **fields}
        return await self.http.post("/v1/chat/completions", json=body)

    async def complete(self, **fields: Any) -> httpx.Response:
        body = {"model": "tiny", "prompt": "hi", **fields}
        return await self.http.post("/v1/completions", json=body)

    async def metric(self, name: str, **labels: str) -> float:
        """The value of one series."""
        text = (await self.get("/metrics")).text
        for family in text_string_to_metric_families(text):
            for sample in family.samples:
                if sample.name == f"vilfredo:{name}" and labels.items() <= sample.labels.items():
                    return sample.value
        raise KeyError(name, labels)


@pytest.fixture
def connect() -> type[Client]:
    return Client


@pytest.fixture
def client(service: Service) -> Client:
    return Client(service)


def read_events(response: httpx.Response) -> list[dict[str, Any]]:
    """The events of a whole stream, which must end as it should."""
    *events, done = [each for each in response.text.split("\n\n") if each]
    assert done == "data: [DONE]"
    return [json.loads(each.removeprefix("data: ")) for each in events]


@pytest.fixture
def events() -> Callable[[httpx.Response], list[dict[str, Any]]]:
    return read_events
