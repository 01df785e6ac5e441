"""Decides what each step computes: a deterministic machine over integers. It never reads a clock,
touches an array or logs."""

from vilfredo.base.errors import InvalidInput
from vilfredo.base.plan import Plan
from vilfredo.core.request import Request
from vilfredo.core.sequence import Finish, Sequence, State
from vilfredo.core.step import Failed, Result, Span, Step
from vilfredo.sched.admission import check_request, check_room
from vilfredo.sched.draft import Draft
from vilfredo.sched.memory import Memory
from vilfredo.sched.order import Queue


class Scheduler:
    """Asks for the next step only when the last is committed; adds and cancels at any time.

    Whoever runs was admitted before whoever waits, and `_running` is in the order of admission.
    When blocks run out, the last admitted gives up its own and goes back to the front of the
    queue: so the first always moves on, and in its turn everyone is the first.
    """

    def __init__(self, plan: Plan) -> None:
        if plan.context > plan.blocks * plan.block_tokens:
            raise InvalidInput("blocks", f"{plan.blocks} cannot hold one context of {plan.context}")
        self.prefix_queries = 0  # prompt tokens looked up in the prefix cache
        self.prefix_hits = 0  # of them, found
        self.preemptions = 0
        self._plan = plan
        self._memory = Memory(plan.blocks, plan.block_tokens)
        self._queue = Queue()
        self._running: dict[str, Sequence] = {}
        self._steps = 0
        self._last_wait = 0.0  # seconds in the queue, of the last admitted

    @property
    def running(self) -> int:
        return len(self._running)

    @property
    def waiting(self) -> int:
        return len(self._queue)

    @property
    def waiting_tokens(self) -> int:
        return self._queue.tokens

    @property
    def blocks_used(self) -> int:
        """Blocks that sequences hold; what is merely cached counts as free."""
        return self._memory.used

    @property
    def has_work(self) -> bool:
        return bool(self._running or self._queue)

    def add(self, request: Request, now: float) -> Sequence:
        """Queues a request. Raises InvalidInput if it can never succeed, Overloaded if not now."""
        if request.id in self._running or request.id in self._queue:
            raise InvalidInput("id", f"{request.id!r} is already in use")
        check_request(request, self._plan.context)
        check_room(request, self._plan, self.waiting, self.waiting_tokens, self._last_wait)
        sequence = Sequence(request, now)
        self._queue.push(sequence)
        return sequence

    def cancel(self, request_id: str) -> Sequence | None:
        """Ends a sequence and frees its blocks at once, even while a step computes it: commit
        passes over what has ended."""
        sequence = self._running.pop(request_id, None) or self._queue.remove(request_id)
        if sequence is not None:
            self._end(sequence, Finish.CANCELLED)
        return sequence

    def schedule(self, now: float) -> Step | None:
        """The next step, or None where there is no work.

        The budget goes to the next tokens of those that generate, so that no prompt holds them
        up; then to a prompt under way; then to those that wait. As these are admitted only while
        some budget is left, every running sequence has a span in every step.
        """
        self._make_room()
        generating = list(self._running.values())
        # A prompt under way took all that was left of the budget: nobody was admitted after it.
        prompts = generating[-1:]
        if prompts and len(prompts[0].tokens) - prompts[0].computed > 1:
            generating.pop()
        else:
            prompts = []
        nexts = [Span(s, s.computed, 1, True) for s in generating]
        draft = Draft(nexts, self._plan.token_budget, self._plan.block_tokens)
        for sequence in prompts:
            draft.add(sequence)
        while draft.budget and self._queue and len(self._running) < self._plan.max_sequences:
            sequence = self._queue.head
            if not self._admit(sequence, draft, now):
                break  # nor those behind it, or a stream of small ones could starve it
            draft.add(sequence)
        if not draft.spans:
            return None
        self._steps += 1
        return Step(self._steps, tuple(draft.spans))

    def commit(self, step: Step, results: tuple[Result, ...]) -> tuple[Sequence, ...]:
        """Takes in what the runner computed, a result a span; gives the sequences that ended."""
        ended: list[Sequence] = []
        for span, result in zip(step.spans, results, strict=True):
            sequence, finish = span.sequence, None
            if sequence.finish is not None:  # cancelled since
                continue
            if isinstance(result, Failed):
                self._memory.distrust(sequence)  # what gave no token may spoil others too
                sequence.reason = result.reason
                finish = Finish.ERROR
            else:
                self._memory.advance(sequence, span.count)
                if result is not None:
                    sequence.tokens.append(result.token)
                    finish = self._verdict(sequence, result.token)
            if finish is not None:
                del self._running[sequence.request.id]
                self._end(sequence, finish)
                ended.append(sequence)
        return tuple(ended)

    def _make_room(self) -> None:
        """A block for each running sequence whose next token needs one, if need be from those
        that were admitted last: they will be computed again, from what the cache still has."""
        short = self._memory.short_of_blocks(self._running.values())
        while len(short) > self._memory.available:
            _, last = self._running.popitem()
            self._memory.release(last)
            last.state = State.WAITING
            self._queue.restore(last)
            self.preemptions += 1
            if last is short[-1]:
                short.pop()
        for sequence in short:
            self._memory.grow(sequence)

    def _admit(self, sequence: Sequence, draft: Draft, now: float) -> bool:
        """Lets the head of the queue run, if there is room and no reason to wait.

        Each running sequence keeps room to grow by a block: else the newcomer would soon give
        way again.
        """
        if not self._memory.reserve(sequence, draft.coming, spare=len(self._running)):
            return False
        self._queue.remove(sequence.request.id)
        self._running[sequence.request.id] = sequence
        sequence.state = State.RUNNING
        if sequence.cached is None:
            prompt = len(sequence.request.prompt)
            sequence.cached = min(sequence.computed, prompt)
            self.prefix_queries += prompt
            self.prefix_hits += sequence.cached
            self._last_wait = now - sequence.arrival
        return True

    def _verdict(self, sequence: Sequence, token: int) -> Finish | None:
        request, length = sequence.request, len(sequence.tokens)
        limits = request.limits
        if token in limits.stop_tokens:
            return Finish.STOP
        if length >= self._plan.context or length - len(request.prompt) >= limits.max_tokens:
            return Finish.LENGTH
        return None

    def _end(self, sequence: Sequence, finish: Finish) -> None:
        self._memory.release(sequence)
        sequence.state = State.FINISHED
        sequence.finish = finish
