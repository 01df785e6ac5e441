"""The one account of what a request used: the answer, the last chunk of a stream and the metrics
all take their numbers from here. Requests that are left, fail or are refused are counted too."""

from collections.abc import Sequence
from dataclasses import dataclass

from vilfredo.base.clock import Clock
from vilfredo.server.metrics import Metrics
from vilfredo.server.orders import Order
from vilfredo.server.protocol.usage import PromptDetails, Usage


@dataclass(slots=True)
class _Choice:
    prompt: int  # tokens; 0 where another choice stands for the prompt
    tokens: int = 0
    cached: int = 0
    last: float | None = None  # when tokens came last
    ended: bool = False


class Account:
    """A choice ends once: by `end`, or by `close` for all that have not."""

    def __init__(
        self, orders: Sequence[Order], arrival: float, clock: Clock, metrics: Metrics
    ) -> None:
        self._choices = [
            _Choice(len(order.prompt.tokens) if order.counts_prompt else 0) for order in orders
        ]
        self._arrival = arrival
        self._clock = clock
        self._metrics = metrics

    def take(self, index: int, tokens: int, cached: int) -> None:
        choice = self._choices[index]
        choice.cached = cached
        if tokens == 0:
            return
        now = self._clock.now()
        if choice.last is None:
            self._metrics.first_token.observe(now - self._arrival)
        else:
            # Those that came at once share the time.
            self._metrics.inter_token.observe((now - choice.last) / tokens, tokens)
        choice.last = now
        choice.tokens += tokens
        self._metrics.generation_tokens.add(tokens)

    def end(self, index: int, reason: str) -> None:
        """`reason` is one of `metrics.ENDS`."""
        choice = self._choices[index]
        choice.ended = True
        self._metrics.ends[reason].inc()
        if reason != "refused":
            self._metrics.prompt_tokens.add(choice.prompt)
        if reason in ("stop", "length"):
            self._metrics.whole.observe(self._clock.now() - self._arrival)

    def close(self, reason: str) -> None:
        for index, choice in enumerate(self._choices):
            if not choice.ended:
                self.end(index, reason)

    def usage(self) -> Usage:
        prompt = sum(choice.prompt for choice in self._choices)
        completion = sum(choice.tokens for choice in self._choices)
        cached = sum(choice.cached for choice in self._choices if choice.prompt)
        return Usage(prompt, completion, prompt + completion, PromptDetails(cached))
