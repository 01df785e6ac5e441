"""The one path from orders to what is answered: pieces of choices, streamed or folded alike."""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from typing import cast

import msgspec

from vilfredo.base.errors import Overloaded
from vilfredo.core.step import Sampled
from vilfredo.engine.messages import Delta
from vilfredo.server.errors import GenerationFailed
from vilfredo.server.orders import Order
from vilfredo.server.service import Service
from vilfredo.server.usage import Account
from vilfredo.text.protocol import Tokenizer
from vilfredo.text.stream import TextStream


class Piece(msgspec.Struct, frozen=True, gc=False):
    """What came of one choice at once. `finish`, stop or length, is in its last piece."""

    choice: int
    text: str
    tokens: tuple[Sampled, ...]
    finish: str | None


Pieces = AsyncGenerator[Piece, None]


async def generate(service: Service, orders: Sequence[Order], account: Account) -> Pieces:
    """Pieces of all choices as they come. Closing it early cancels whatever still runs.

    Raises Overloaded, EngineDied and GenerationFailed; then nothing runs any more either.
    """
    choices = [_follow(service, index, order, account) for index, order in enumerate(orders)]
    reason = "abort"
    try:
        async with aclosing(choices[0] if len(choices) == 1 else _merge(choices)) as pieces:
            async for piece in pieces:
                yield piece
    except Overloaded:
        reason = "refused"
        raise
    except Exception:
        reason = "error"
        raise
    finally:
        account.close(reason)


async def _follow(service: Service, index: int, order: Order, account: Account) -> Pieces:
    reader = _Reader(service.tokenizer, index, order)
    # A door promises more than its type says: iterators that can be closed.
    submitted = cast(AsyncGenerator[Delta, None], service.door.submit(order.request))
    async with aclosing(submitted) as deltas:
        async for delta in deltas:
            piece = reader.read(delta)
            account.take(index, len(piece.tokens), delta.cached)
            if piece.finish is not None:
                account.end(index, piece.finish)
            if piece.text or piece.finish is not None or reader.shows_tokens:
                yield piece
            if piece.finish is not None:
                return
            if delta.finish is not None:
                raise GenerationFailed(delta.reason or f"the engine said {delta.finish}")


class _Reader:
    """Turns the deltas of one choice into its pieces."""

    def __init__(self, tokenizer: Tokenizer, index: int, order: Order) -> None:
        self.shows_tokens = order.request.sampling.logprobs is not None
        self._index = index
        self._before = order.prompt.echo
        self._stream = TextStream(tokenizer, order.stops, continues=order.prompt.continues)

    def read(self, delta: Delta) -> Piece:
        """A stop string ends the choice, whatever the engine says."""
        pushed = self._stream.push([sampled.token for sampled in delta.tokens])
        text, stopped = self._before + pushed.text, pushed.stopped
        self._before = ""
        if delta.finish is not None:
            rest = self._stream.finish()
            text, stopped = text + rest.text, rest.stopped
        finish = delta.finish if delta.finish in ("stop", "length") else None
        return Piece(
            self._index,
            text,
            delta.tokens[: pushed.consumed],
            finish if stopped is None else "stop",
        )


async def _merge(choices: Sequence[Pieces]) -> Pieces:
    """The first error of one ends all. The queue is short: what a slow client does not take is
    better kept by the door, which joins it."""
    queue: asyncio.Queue[Piece | Exception | None] = asyncio.Queue(len(choices))

    async def feed(choice: Pieces) -> None:
        try:
            async with aclosing(choice) as pieces:
                async for piece in pieces:
                    await queue.put(piece)
        except Exception as error:
            await queue.put(error)
        else:
            await queue.put(None)

    feeders = [asyncio.create_task(feed(choice)) for choice in choices]
    left = len(feeders)
    try:
        while left:
            match await queue.get():
                case Piece() as piece:
                    yield piece
                case None:
                    left -= 1
                case error:
                    raise error
    finally:
        for feeder in feeders:
            feeder.cancel()
        await asyncio.wait(feeders)
