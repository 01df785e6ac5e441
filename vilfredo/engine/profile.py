"""Where a step's time goes: real engine steps with a clock at each seam. Never runs in a server.

The clock stands between the parts, in wrappers of what the engine is made of, so that they cost
nothing when nobody looks.
"""

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

import numpy as np

from vilfredo.base.clock import SystemClock
from vilfredo.core.request import Limits, Request, Sampling
from vilfredo.core.sequence import Sequence as Sequence_
from vilfredo.core.step import Failed, Result, Sampled, Step
from vilfredo.engine.assemble import Assembly, load_decoder
from vilfredo.engine.engine import Engine
from vilfredo.models.decoder import Decoder
from vilfredo.models.inputs import DecoderInputs
from vilfredo.ops.choose import choose
from vilfredo.ops.table import F32, I64, Kernels, LayerCache, Program
from vilfredo.runner.kvstore import KVStore
from vilfredo.runner.local import LocalRunner
from vilfredo.runner.sampler import Sampler

# Python's parts of a step, in the order of the report.
SCHEDULING, INPUTS, FILLING, SAMPLING = (
    "schedule, commit, deltas",
    "inputs and results",
    "filling in a recorded step",
    "sampling",
)


@dataclass(frozen=True, slots=True)
class Call:
    """One native call; times in nanoseconds of time.monotonic_ns."""

    name: str
    begin: int
    end: int
    waited: int  # of it, the calling thread for the others
    weight_bytes: int
    multiply_adds: int


@dataclass(slots=True)
class StepProfile:
    rows: int = 0
    spans: int = 0
    begin: int = 0
    end: int = 0
    phases: dict[str, tuple[int, int]] = field(default_factory=dict)  # begin and end, by seam
    runs: list[tuple[Program, I64]] = field(default_factory=list)  # and their times [calls, 3]

    @property
    def decodes(self) -> bool:
        return self.rows == self.spans

    @property
    def nanoseconds(self) -> int:
        return self.end - self.begin

    @property
    def calls(self) -> Iterator[Call]:
        """Spelled out only when asked for, and not while the step is under way."""
        for program, times in self.runs:
            named = zip(program.names, program.work, times.tolist(), strict=True)
            for name, work, (begin, end, waited) in named:
                yield Call(name, begin, end, waited, *work)

    def parts(self) -> dict[str, int]:
        """Nanoseconds of Python's parts; with those of the calls they make the step."""

        def took(phase: str) -> int:
            begin, end = self.phases.get(phase, (0, 0))
            return end - begin

        native = sum(call.end - call.begin for call in self.calls)
        launch, forward, sample = took("launch"), took("forward"), took("sample")
        return {
            SCHEDULING: self.nanoseconds - launch,
            INPUTS: launch - forward - sample,
            FILLING: forward - native,
            SAMPLING: sample,
        }


class Watch:
    """Collects the step that is under way."""

    def __init__(self) -> None:
        self.step = StepProfile()

    @contextmanager
    def phase(self, name: str) -> Iterator[None]:
        begin = time.monotonic_ns()
        yield
        self.step.phases[name] = begin, time.monotonic_ns()

    def run(self, program: Program) -> None:
        times = np.empty((len(program), 3), np.int64)
        program.run(times)
        self.step.runs.append((program, times))


class _WatchedForward:
    def __init__(self, decoder: Decoder, watch: Watch) -> None:
        self._decoder = decoder
        self._watch = watch

    def forward(self, inputs: DecoderInputs, caches: tuple[LayerCache, ...]) -> F32:
        with self._watch.phase("forward"):
            return self._decoder.forward(inputs, caches)


class _WatchedRunner:
    def __init__(self, runner: LocalRunner, watch: Watch) -> None:
        self._runner = runner
        self._watch = watch
        self.forget = runner.forget

    def launch(self, step: Step) -> tuple[Result, ...]:
        self._watch.step.spans = len(step.spans)
        self._watch.step.rows = sum(span.count for span in step.spans)
        with self._watch.phase("launch"):
            return self._runner.launch(step)


class _WatchedSampler(Sampler):
    def __init__(self, kernels: Kernels, watch: Watch) -> None:
        super().__init__(kernels)
        self._watch = watch

    def sample(self, logits: F32, sequences: Sequence[Sequence_]) -> list[Sampled | Failed]:
        with self._watch.phase("sample"):
            return super().sample(logits, sequences)


def profile(
    assembly: Assembly, prompt: int, batch: int, tokens: int, warm: bool = True
) -> list[StepProfile]:
    """The steps that take in `batch` prompts of `prompt` tokens and give each `tokens`. Shapes of
    steps that have not been seen are recorded first: `warm` runs everything once before."""
    watch = Watch()
    spec, plan = assembly.spec, assembly.plan
    kernels = choose(plan.table, plan.threads)
    decoder = load_decoder(assembly, kernels, watch.run)
    store = KVStore.allocate(spec, plan.blocks, plan.block_tokens)
    sampler = _WatchedSampler(kernels, watch)
    runner = LocalRunner(_WatchedForward(decoder, watch), store, sampler, spec.vocabulary)
    engine = Engine(plan, _WatchedRunner(runner, watch), SystemClock())
    rounds: list[list[StepProfile]] = []
    for number in range(2 if warm else 1):
        for index in range(batch):
            random = np.random.default_rng((number, index))
            ids = tuple(random.integers(0, spec.vocabulary, prompt).tolist())
            name = f"{number}-{index}"  # a tenant each: nothing comes from the prefix cache
            limits = Limits(tokens)
            engine.submit(Request(name, ids, limits, Sampling(temperature=0.0), tenant=name))
        rounds.append(list(_steps(engine, watch)))
    return rounds[-1]


def _steps(engine: Engine, watch: Watch) -> Iterator[StepProfile]:
    while engine.has_work:
        watch.step = step = StepProfile(begin=time.monotonic_ns())
        engine.step()
        step.end = time.monotonic_ns()
        yield step


@dataclass(frozen=True, slots=True)
class Row:
    """A kind of call or a part of Python's, in the mean step."""

    name: str
    count: float  # calls a step
    milliseconds: float
    waited: float  # of those
    weight_bytes: float
    multiply_adds: float


def rows(steps: Sequence[StepProfile]) -> list[Row]:
    """Calls by name, then Python's parts, each in falling order. Their milliseconds add up to the
    mean step's."""
    kinds: dict[str, list[Call]] = {}
    for step in steps:
        for call in step.calls:
            kinds.setdefault(call.name, []).append(call)
    count = len(steps)
    native = [
        Row(
            name,
            len(calls) / count,
            sum(call.end - call.begin for call in calls) / count / 1e6,
            sum(call.waited for call in calls) / count / 1e6,
            sum(call.weight_bytes for call in calls) / count,
            sum(call.multiply_adds for call in calls) / count,
        )
        for name, calls in kinds.items()
    ]
    parts = [step.parts() for step in steps]
    python = [
        Row(f"Python: {name}", 1, sum(part[name] for part in parts) / count / 1e6, 0, 0, 0)
        for name in (SCHEDULING, INPUTS, FILLING, SAMPLING)
    ]
    return [
        *sorted(native, key=lambda row: -row.milliseconds),
        *sorted(python, key=lambda row: -row.milliseconds),
    ]


def trace(steps: Sequence[StepProfile]) -> dict[str, object]:
    """Chrome's trace event format: a lane of steps, one of Python's seams, one of native calls."""
    events: list[dict[str, object]] = [
        {"ph": "M", "name": "thread_name", "pid": 1, "tid": lane, "args": {"name": name}}
        for lane, name in enumerate(("steps", "seams", "native calls"))
    ]

    def add(lane: int, name: str, begin: int, end: int, **more: object) -> None:
        times = {"ts": begin / 1e3, "dur": (end - begin) / 1e3}  # microseconds
        events.append({"ph": "X", "name": name, "pid": 1, "tid": lane, **times, "args": more})

    for step in steps:
        kind = "decode" if step.decodes else "prefill"
        add(0, f"{kind}, {step.rows} rows", step.begin, step.end, spans=step.spans)
        for name, (begin, end) in step.phases.items():
            add(1, name, begin, end)
        for call in step.calls:
            add(2, call.name, call.begin, call.end, waited_us=call.waited / 1e3)
    return {"traceEvents": events, "displayTimeUnit": "ms"}
