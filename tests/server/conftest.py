"""A model of bytes behind a door that answers as it is told, served over ASGI without sockets."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from random import Random
from typing import Any

import httpx
import pytest

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


def says(text: str | bytes, **more: Any) -> Callable[[Any], Answer]:
    """An answer of this text; with no finish of its own, the engine's end token follows."""
    data = text.encode() if isinstance(text, str) else text
    ending = () if more else (END,)
    return lambda request: Answer((*data, *ending), **more)


@pytest.fixture
def door() -> FakeDoor:
    return FakeDoor(says("Hello"))


@pytest.fixture
def make_service(door: FakeDoor) -> Callable[..., Service]:
    def make(**changes: Any) -> Service:
        facts: dict[str, Any] = {
            "served_name": "tiny",
            "tokenizer": Bytes(),
            "template": Lines(),
            "door": door,
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
def service(make_service: Callable[..., Service]) -> Service:
    return make_service()


@pytest.fixture
def connect() -> Callable[[Service], httpx.AsyncClient]:
    def make(service: Service) -> httpx.AsyncClient:
        transport = httpx.ASGITransport(build_app(service), raise_app_exceptions=False)
        return httpx.AsyncClient(transport=transport, base_url="http://test")

    return make


@pytest.fixture
def client(service: Service, connect: Callable[[Service], httpx.AsyncClient]) -> Iterator[Any]:
    return connect(service)
