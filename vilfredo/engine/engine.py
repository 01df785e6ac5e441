"""The body of the engine's loop: schedule, run, commit, tell. It never waits, and knows no
sockets."""

from vilfredo.base.clock import Clock
from vilfredo.base.errors import InvalidInput, Overloaded
from vilfredo.base.plan import Plan
from vilfredo.core.request import Request
from vilfredo.core.sequence import Finish
from vilfredo.core.step import Failed, Result, Sampled, Step
from vilfredo.engine.messages import Delta, Refused, Stats
from vilfredo.runner.protocol import Runner
from vilfredo.sched.admission import LEAST_RETRY
from vilfredo.sched.scheduler import Scheduler

# Steps that may fail one after the other before the fault is held to be the engine's own.
MOST_FAULTS = 3


class Engine:
    """For one caller. A request ends with the delta that has a finish, unless it is cancelled."""

    def __init__(self, plan: Plan, runner: Runner, clock: Clock) -> None:
        self._plan = plan
        self._scheduler = Scheduler(plan)
        self._runner = runner
        self._clock = clock
        self._returning: dict[str, Request] = {}  # accepted once, but the queue is full
        self._steps = 0
        self._faults = 0  # failed steps since the last sound one

    @property
    def has_work(self) -> bool:
        return self._scheduler.has_work or bool(self._returning)

    def submit(self, request: Request, accepted: bool = False) -> Delta | Refused | None:
        """None where the request was accepted; else why it was not.

        After a crash what ran comes back besides what waited, and may be more than the queue
        holds. So what an earlier engine had `accepted` is kept, and goes in before newcomers.
        """
        if self._returning and not accepted:
            reason = f"{len(self._returning)} requests of an engine that died wait already"
            return Refused(request.id, reason, LEAST_RETRY)
        try:
            self._scheduler.add(request, self._clock.now())
        except InvalidInput as error:
            return Delta(request.id, (), Finish.ERROR.value, str(error))
        except Overloaded as error:
            if accepted:
                self._returning[request.id] = request
                return None
            return Refused(request.id, error.reason, error.retry_after)
        return None

    def cancel(self, request_id: str) -> None:
        """Frees all that the request holds, at once. One that is unknown or ended is ignored."""
        self._returning.pop(request_id, None)
        if self._scheduler.cancel(request_id) is not None:
            self._runner.forget(request_id)

    def step(self) -> tuple[Delta, ...]:
        """Computes one step and says what it gave to whom; nothing where there is no work.

        An exception of the runner ends the requests of the step, not the engine: unless steps
        fail again and again, and then it is raised.
        """
        self._readmit()
        step = self._scheduler.schedule(self._clock.now())
        if step is None:
            return ()
        self._steps += 1
        try:
            results = self._runner.launch(step)
            self._faults = 0
        except Exception as error:
            self._faults += 1
            if self._faults == MOST_FAULTS:
                raise
            reason = f"the step failed: {type(error).__name__}: {error}"
            results = (Failed(reason),) * len(step.spans)
        ended = self._scheduler.commit(step, results)
        for sequence in ended:
            self._runner.forget(sequence.request.id)
        return _deltas(step, results)

    def stats(self) -> Stats:
        scheduler = self._scheduler
        return Stats(
            steps=self._steps,
            running=scheduler.running,
            waiting=scheduler.waiting + len(self._returning),
            waiting_tokens=scheduler.waiting_tokens
            + sum(len(each.prompt) + len(each.output) for each in self._returning.values()),
            blocks_used=scheduler.blocks_used,
            blocks_total=self._plan.blocks,
            prefix_queries=scheduler.prefix_queries,
            prefix_hits=scheduler.prefix_hits,
            preemptions=scheduler.preemptions,
        )

    def _readmit(self) -> None:
        """The queue takes anything when it is empty, so everyone gets in."""
        while self._returning:
            request = next(iter(self._returning.values()))
            try:
                self._scheduler.add(request, self._clock.now())
            except Overloaded:
                return
            del self._returning[request.id]


def _deltas(step: Step, results: tuple[Result, ...]) -> tuple[Delta, ...]:
    deltas: list[Delta] = []
    for span, result in zip(step.spans, results, strict=True):
        if result is None:
            continue
        sequence = span.sequence
        deltas.append(
            Delta(
                sequence.request.id,
                (result,) if isinstance(result, Sampled) else (),
                sequence.finish.value if sequence.finish else None,
                sequence.reason,
                sequence.cached or 0,
            )
        )
    return tuple(deltas)
