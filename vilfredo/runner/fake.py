"""A runner without a model, for tests: the next token is a function of the sequence's tokens.

So whatever batching, caching, preemption or replay may do, a right engine gives every request the
tokens that `continuation` foretells.
"""

import zlib
from array import array
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType

from vilfredo.core.step import Result, Sampled, Span, Step

VOCABULARY = 256


def next_token(tokens: Sequence[int]) -> int:
    return zlib.crc32(array("q", tokens).tobytes()) % VOCABULARY


def continuation(prompt: Sequence[int], count: int) -> list[int]:
    tokens = list(prompt)
    for _ in range(count):
        tokens.append(next_token(tokens))
    return tokens[len(prompt) :]


def sampled(token: int, logprobs: int | None) -> Sampled:
    """With as many alternatives as are asked for, the token itself first; see Sampling."""
    if logprobs is None:
        return Sampled(token)
    top = tuple(((token + place) % VOCABULARY, -1.0 - place) for place in range(logprobs))
    return Sampled(token, -1.0, top)


class FakeRunner:
    """`before` sees each step first and may raise, sleep or take notes. `scripts` are outputs, by
    request id; what goes on beyond its script does so as any other. `forgotten` are the requests
    that the engine let go."""

    def __init__(
        self,
        before: Callable[[Step], None] = lambda step: None,
        scripts: Mapping[str, Sequence[int]] = MappingProxyType({}),
    ) -> None:
        self.forgotten: list[str] = []
        self._before = before
        self._scripts = scripts

    def launch(self, step: Step) -> tuple[Result, ...]:
        self._before(step)
        return tuple(self._sample(span) if span.samples else None for span in step.spans)

    def forget(self, request_id: str) -> None:
        self.forgotten.append(request_id)

    def _sample(self, span: Span) -> Sampled:
        sequence = span.sequence
        script = self._scripts.get(sequence.request.id, ())
        if sequence.output_count < len(script):
            token = script[sequence.output_count]
        else:
            token = next_token(sequence.tokens)
        return sampled(token, sequence.request.sampling.logprobs)
