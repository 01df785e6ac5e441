"""A door without an engine behind it, for tests of what stands before one: it answers as it is
told to, and remembers what was asked of it."""

import asyncio
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass

from msgspec.structs import replace

from vilfredo.base.errors import VilfredoError
from vilfredo.core.request import Request
from vilfredo.core.sequence import Finish
from vilfredo.engine.door import Health
from vilfredo.engine.messages import Delta, Stats
from vilfredo.runner.fake import sampled


@dataclass(frozen=True, slots=True)
class Answer:
    """What one request gets: a delta a token; then its end, an error, or nothing ever more."""

    tokens: tuple[int, ...] = ()
    finish: str = "stop"
    reason: str | None = None
    cached: int = 0
    error: VilfredoError | None = None  # raised after the tokens, in place of the finish
    hangs: bool = False  # after the tokens, until the client leaves


def echo(request: Request) -> Answer:
    """The prompt again, as far as the limit on tokens lets it."""
    most = request.limits.max_tokens
    return Answer(request.prompt[:most], "length" if len(request.prompt) >= most else "stop")


class FakeDoor:
    """Implements Door. Set `answer`, `health_now` and `stats_now` to what the test needs."""

    def __init__(self, answer: Callable[[Request], Answer] = echo) -> None:
        self.answer = answer
        self.health_now = Health(alive=True, ready=True, progressing=True)
        self.stats_now = Stats()
        self.requests: list[Request] = []
        self.cancelled: list[str] = []  # ids of those whose client left before their end

    async def submit(self, request: Request) -> AsyncIterator[Delta]:
        self.requests.append(request)
        answer = self.answer(request)
        ended = False
        try:
            for delta in _deltas(request, answer):
                await asyncio.sleep(0)  # others' streams come in between, as in life
                ended = delta.finish is not None
                yield delta
            if answer.hangs:
                await asyncio.Event().wait()
            if answer.error is not None:
                ended = True
                raise answer.error
        finally:
            if not ended:
                self.cancelled.append(request.id)

    def stats(self) -> Stats:
        return self.stats_now

    def health(self) -> Health:
        return self.health_now


def _deltas(request: Request, answer: Answer) -> list[Delta]:
    """A finish comes with the last token, as from an engine; only an error comes alone."""
    count = request.sampling.logprobs
    deltas = [
        Delta(request.id, (sampled(token, count),), cached=answer.cached) for token in answer.tokens
    ]
    if answer.hangs or answer.error is not None:
        return deltas
    alone = answer.finish == Finish.ERROR.value or not deltas
    last = Delta(request.id, (), cached=answer.cached) if alone else deltas.pop()
    return [*deltas, replace(last, finish=answer.finish, reason=answer.reason)]
