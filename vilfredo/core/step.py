"""A step: what the runner computes at once. It knows no prefill and no decode, only spans."""

from dataclasses import dataclass

import msgspec

from vilfredo.core.sequence import Sequence

# What is made for every token is a Struct: frozen, it takes a fifth of a dataclass's time to make.


class Span(msgspec.Struct, frozen=True, gc=False):
    """Compute sequence.tokens[start : start + count]; the blocks for them are already held."""

    sequence: Sequence
    start: int
    count: int
    samples: bool  # the span reaches the last token: its logits give the next one


class Step(msgspec.Struct, frozen=True, gc=False):
    number: int
    spans: tuple[Span, ...]

    @property
    def tokens(self) -> int:
        return sum(span.count for span in self.spans)


class Sampled(msgspec.Struct, frozen=True, gc=False):
    """One drawn token; `logprob` and `top` are filled only where the request asks for them."""

    token: int
    logprob: float | None = None
    top: tuple[tuple[int, float], ...] = ()


@dataclass(frozen=True, slots=True)
class Failed:
    """No token could be drawn for this span (the logits were not finite): its sequence ends."""

    reason: str


Result = Sampled | Failed | None  # None: the span did not sample
