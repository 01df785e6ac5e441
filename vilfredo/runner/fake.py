"""A runner without a model, for tests: the next token is a function of the sequence's tokens.

So whatever batching, caching, preemption or replay may do, a right engine gives every request the
tokens that `continuation` foretells.
"""

import zlib
from array import array
from collections.abc import Callable, Sequence

from vilfredo.core.request import Request
from vilfredo.core.step import Result, Sampled, Span, Step

VOCABULARY = 256


def next_token(tokens: Sequence[int]) -> int:
    return zlib.crc32(array("q", tokens).tobytes()) % VOCABULARY


def continuation(prompt: Sequence[int], count: int) -> list[int]:
    tokens = list(prompt)
    for _ in range(count):
        tokens.append(next_token(tokens))
    return tokens[len(prompt) :]


class FakeRunner:
    """`before` sees each step first and may raise, sleep or take notes. `forgotten` are the
    requests that the engine let go."""

    def __init__(self, before: Callable[[Step], None] = lambda step: None) -> None:
        self.forgotten: list[str] = []
        self._before = before

    def launch(self, step: Step) -> tuple[Result, ...]:
        self._before(step)
        return tuple(_sample(span) if span.samples else None for span in step.spans)

    def forget(self, request_id: str) -> None:
        self.forgotten.append(request_id)


def _sample(span: Span) -> Sampled:
    request: Request = span.sequence.request
    token = next_token(span.sequence.tokens)
    count = request.sampling.logprobs
    if count is None:
        return Sampled(token)
    top = tuple(((token + place) % VOCABULARY, -1.0 - place) for place in range(count))
    return Sampled(token, -1.0, top)
