"""A small world around the scheduler: it computes steps on a memory of its own, and checks every
rule that holds at every moment. Tests only say what happens."""

from collections import Counter
from collections.abc import Callable
from zlib import crc32

import pytest

from vilfredo.base.plan import Plan
from vilfredo.core.request import Limits, Request
from vilfredo.core.sequence import Finish, Sequence, State
from vilfredo.core.step import Failed, Result, Sampled, Span, Step
from vilfredo.sched.scheduler import Scheduler

VOCABULARY = 50


def after(state: int, token: int) -> int:
    """What the "model" makes of one more token; the state stands for all tokens so far."""
    return crc32(b"%d %d" % (state, token))


def alone(request: Request, context: int) -> list[int]:
    """The output of a request that has the model for itself."""
    state, output = crc32(request.tenant.encode()), list(request.output)
    for token in request.prompt + request.output:
        state = after(state, token)
    while True:
        output.append(state % VOCABULARY)
        full = len(request.prompt) + len(output) >= context
        if full or len(output) >= request.limits.max_tokens:
            return output
        if output[-1] in request.limits.stop_tokens:
            return output
        state = after(state, output[-1])


class World:
    def __init__(self, **numbers: int) -> None:
        small = {
            "context": 24,
            "block_tokens": 4,
            "blocks": 10,
            "max_sequences": 4,
            "token_budget": 8,
            "max_waiting": 8,
            "max_waiting_tokens": 100,
        }
        self.plan = Plan("model", "model", "table", 1, **(small | numbers))
        self.scheduler = Scheduler(self.plan)
        self.memory: dict[int, int] = {}  # slot -> state after the token whose KV lies there
        self.live: dict[str, Sequence] = {}
        self.ended: dict[str, Sequence] = {}
        self.reached: dict[Sequence, int] = {}  # tokens computed since the last admission
        self.trace: list[list[tuple[str, int, int, tuple[int, ...]]]] = []
        self.now = 0.0

    def add(
        self,
        name: str,
        prompt: list[int],
        max_tokens: int = 3,
        tenant: str = "",
        stop: tuple[int, ...] = (),
        output: tuple[int, ...] = (),
    ) -> Sequence:
        limits = Limits(max_tokens, frozenset(stop))
        request = Request(name, tuple(prompt), limits, tenant=tenant, output=output)
        self.live[name] = sequence = self.scheduler.add(request, self.now)
        return sequence

    def cancel(self, name: str) -> None:
        sequence = self.live.pop(name)
        assert self.scheduler.cancel(name) is sequence
        assert (sequence.state, sequence.finish) == (State.FINISHED, Finish.CANCELLED)
        self.check()

    def step(
        self, fail: str | None = None, meanwhile: Callable[[], object] = lambda: None
    ) -> Step | None:
        """One step; the sequence named `fail` gets no token, `meanwhile` happens as it runs."""
        self.now += 1.0
        step = self.scheduler.schedule(self.now)
        assert (step is None) == (not self.scheduler.has_work)
        if step is None:
            return None
        self.check_step(step)
        results = tuple(self.compute(span, fail) for span in step.spans)
        meanwhile()
        for sequence in self.scheduler.commit(step, results):
            self.ended[sequence.request.id] = self.live.pop(sequence.request.id)
            if sequence.finish is not Finish.ERROR:
                expected = alone(sequence.request, self.plan.context)
                assert sequence.tokens == [*sequence.request.prompt, *expected]
        self.check()
        return step

    def drain(self) -> None:
        """Steps until all is done: the first in order gains a token a step at the least."""
        for _ in range(len(self.live) * self.plan.context + 1):
            if self.step() is None:
                break
        assert not self.live
        assert self.scheduler.blocks_used == 0
        assert (self.scheduler.running, self.scheduler.waiting) == (0, 0)
        assert self.scheduler.waiting_tokens == 0

    def compute(self, span: Span, fail: str | None) -> Result:
        sequence, size = span.sequence, self.plan.block_tokens
        state = crc32(sequence.request.tenant.encode())
        failed = sequence.request.id == fail and span.samples
        for position, token in enumerate(sequence.tokens[: span.start + span.count]):
            state = after(state, token)
            slot = sequence.blocks[position // size] * size + position % size
            if position < span.start:
                assert self.memory[slot] == state  # all that it builds on is its own, and sound
            else:
                self.memory[slot] = -1 if failed else state
        if failed:
            return Failed("not finite")
        return Sampled(state % VOCABULARY) if span.samples else None

    def check_step(self, step: Step) -> None:
        assert 0 < step.tokens <= self.plan.token_budget
        assert self.scheduler.running <= self.plan.max_sequences
        names = [span.sequence.request.id for span in step.spans]
        assert len(set(names)) == len(names)
        writes: Counter[int] = Counter()
        for span in step.spans:
            sequence, end = span.sequence, span.start + span.count
            # What was computed is not computed again, but for a new start from the cache.
            assert span.start == sequence.computed
            assert span.start == self.reached.get(sequence, span.start)
            assert span.count > 0
            assert end <= len(sequence.tokens) <= len(sequence.blocks) * self.plan.block_tokens
            assert span.samples == (end == len(sequence.tokens))
            size = self.plan.block_tokens
            writes.update(sequence.blocks[span.start // size : -(-end // size)])
        assert max(writes.values()) == 1
        assert len(names) == self.scheduler.running  # whoever runs is never held up
        self.reached = {
            sequence: sequence.computed for sequence in self.live.values() if sequence.blocks
        } | {span.sequence: span.start + span.count for span in step.spans}
        self.trace.append(
            [
                (span.sequence.request.id, span.start, span.count, tuple(span.sequence.blocks))
                for span in step.spans
            ]
        )

    def check(self) -> None:
        scheduler, live = self.scheduler, self.live.values()
        held = {block for sequence in live for block in sequence.blocks}
        assert scheduler.blocks_used == len(held) <= self.plan.blocks
        waiting = [s for s in live if s.state is State.WAITING]
        assert scheduler.waiting == len(waiting)
        assert scheduler.waiting_tokens == sum(len(s.tokens) for s in waiting)
        assert scheduler.running == len(live) - len(waiting)
        for sequence in live:
            assert 0 <= sequence.computed < len(sequence.tokens)


@pytest.fixture(scope="session")
def world() -> type[World]:
    return World
