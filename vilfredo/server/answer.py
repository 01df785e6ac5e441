"""Answers a request from its orders, streamed or whole; both are made of the same pieces."""

from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from typing import Protocol

from starlette.requests import Request
from starlette.responses import Response

from vilfredo.server.eventstream import DONE, EventStream
from vilfredo.server.generate import Piece, Pieces, generate
from vilfredo.server.metrics import Metrics
from vilfredo.server.orders import Order
from vilfredo.server.presence import unless_gone
from vilfredo.server.protocol.generation import Generation
from vilfredo.server.protocol.usage import Usage
from vilfredo.server.service import Service
from vilfredo.server.usage import Account


class Rendering(Protocol):
    """How one endpoint writes pieces. One rendering serves one request."""

    def events(self, piece: Piece) -> bytes:
        """The server-sent events of a piece."""
        ...

    def last_event(self, usage: Usage) -> bytes:
        """The event with the usage, where the client asked for one."""
        ...

    def whole(self, choices: Sequence[Piece], usage: Usage) -> bytes:
        """The body of a whole answer; each choice is one piece."""
        ...


@dataclass(frozen=True, slots=True)
class Job:
    asked: Generation
    orders: tuple[Order, ...]
    rendering: Rendering
    arrival: float


async def answer(service: Service, metrics: Metrics, job: Job, request: Request) -> Response:
    account = Account(job.orders, job.arrival, service.clock, metrics)
    pieces = generate(service, job.orders, account)
    if job.asked.stream:
        return EventStream(_events(job, pieces, account))
    choices = await unless_gone(request.receive, _fold(pieces, len(job.orders)))
    return Response(job.rendering.whole(choices, account.usage()), media_type="application/json")


async def _events(job: Job, pieces: Pieces, account: Account) -> AsyncGenerator[bytes, None]:
    async with aclosing(pieces):
        async for piece in pieces:
            yield job.rendering.events(piece)
    if job.asked.includes_usage:
        yield job.rendering.last_event(account.usage())
    yield DONE


async def _fold(pieces: Pieces, count: int) -> list[Piece]:
    """A piece for each choice: all of its pieces joined."""
    choices: list[list[Piece]] = [[] for _ in range(count)]
    async with aclosing(pieces):
        async for piece in pieces:
            choices[piece.choice].append(piece)
    return [
        Piece(
            index,
            "".join(piece.text for piece in parts),
            tuple(token for piece in parts for token in piece.tokens),
            parts[-1].finish,
        )
        for index, parts in enumerate(choices)
    ]
