import asyncio
import contextlib
import itertools
import os
import signal
import threading
from contextlib import aclosing
from dataclasses import replace

import pytest

from vilfredo.base.clock import FakeClock
from vilfredo.base.errors import BadFile, EngineDied, InvalidInput, Overloaded
from vilfredo.core.request import Sampling
from vilfredo.core.step import Sampled
from vilfredo.engine.client import STALL, EngineClient
from vilfredo.engine.link import ProcessLink, SocketLink
from vilfredo.engine.messages import (
    Command,
    Delta,
    Deltas,
    Died,
    Event,
    Ready,
    Refused,
    Start,
    Stats,
    Submit,
)
from vilfredo.engine.supervisor import Patience
from vilfredo.runner.fake import FakeRunner, continuation

QUICK = Patience(delay=0.001)


@contextlib.asynccontextmanager
async def running(plan, launch, clock=None, patience=QUICK):
    client = EngineClient(plan, launch, clock or FakeClock(), patience)
    await client.start()
    try:
        yield client
    finally:
        await client.stop()
        if hasattr(launch, "join"):
            await launch.join()


async def collect(client, request) -> list[int]:
    tokens = []
    async with aclosing(client.submit(request)) as deltas:
        async for delta in deltas:
            tokens.extend(sampled.token for sampled in delta.tokens)
    return tokens


def fake(plan):
    return FakeRunner()


async def until(condition, tries=500):
    for _ in range(tries):
        if condition():
            return
        await asyncio.sleep(0.01)
    raise AssertionError("never came true")


async def test_many_streams_at_once(make_plan, make_request, launcher):
    requests = [make_request((n, n), max_tokens=1 + n % 5) for n in range(30)]
    async with running(make_plan(), launcher(fake)) as client:
        outputs = await asyncio.gather(*(collect(client, request) for request in requests))
        assert client.health().progressing
    for request, output in zip(requests, outputs, strict=True):
        assert output == continuation(request.prompt, request.limits.max_tokens)


async def test_leaving_a_stream_cancels_it(make_plan, make_request, launcher):
    async with running(make_plan(), launcher(fake)) as client:
        async with aclosing(client.submit(make_request(max_tokens=60))) as deltas:
            await anext(deltas)
        await until(lambda: client.stats().blocks_used == 0 and client.stats().running == 0)
        assert await collect(client, make_request((5,))) == continuation((5,), 5)


async def test_refusals_and_errors_reach_their_request(make_plan, make_request, launcher):
    slow = launcher(lambda plan: FakeRunner(lambda step: None))
    async with running(make_plan(max_waiting=1, max_sequences=1), slow) as client:
        results = await asyncio.gather(
            *(collect(client, make_request(max_tokens=40)) for _ in range(8)),
            return_exceptions=True,
        )
        assert any(isinstance(result, Overloaded) for result in results)
        assert all(
            isinstance(result, Overloaded) or result == continuation((1, 2, 3), 40)
            for result in results
        )
        async with aclosing(client.submit(make_request(()))) as deltas:
            assert (await anext(deltas)).finish == "error"


async def test_one_id_is_one_request(make_plan, make_request, launcher):
    async with (
        running(make_plan(), launcher(fake)) as client,
        aclosing(client.submit(make_request(id="a", max_tokens=60))) as deltas,
    ):
        await anext(deltas)
        with pytest.raises(InvalidInput, match="already in use"):
            await collect(client, make_request(id="a"))


class Crash(BaseException):
    """Not an Exception: it passes everything that would treat it as a fault of a step."""


def dying(steps: int):
    """Builds a runner that takes its engine with it in a later step."""

    def build(plan):
        left = iter(range(steps))

        def before(step):
            if next(left, None) is None:
                raise Crash

        return FakeRunner(before)

    return build


@pytest.mark.parametrize("steps", [0, 1, 2, 5])
async def test_a_crash_loses_and_doubles_nothing(make_plan, make_request, launcher, steps):
    deaths = launcher(dying(steps), dying(steps), fake)
    requests = [make_request((n, 1), max_tokens=12) for n in range(6)]
    async with running(make_plan(), deaths, patience=replace(QUICK, crashes=9)) as client:
        outputs = await asyncio.gather(*(collect(client, request) for request in requests))
    assert deaths.launched == 3
    for request, output in zip(requests, outputs, strict=True):
        assert output == continuation(request.prompt, 12)


async def test_a_request_that_kills_every_engine_ends(make_plan, make_request, launcher):
    killer = launcher(dying(0))
    async with running(make_plan(), killer, patience=replace(QUICK, deaths=9, crashes=2)) as client:
        with pytest.raises(EngineDied, match="died 2 times while it had this request"):
            await collect(client, make_request())
        await until(lambda: client.health().ready)


async def test_patience_ends_for_all(make_plan, make_request, launcher):
    async with running(
        make_plan(), launcher(dying(0)), patience=replace(QUICK, deaths=1)
    ) as client:
        with pytest.raises(EngineDied):
            await collect(client, make_request())
        health = client.health()
        assert not health.alive
        assert health.reason == "the engine's process ended"
        with pytest.raises(EngineDied):
            await collect(client, make_request())


async def test_an_engine_that_cannot_start_says_why(make_plan, launcher):
    def build(plan):
        raise BadFile("m", "is cut short")

    launch = launcher(build)
    client = EngineClient(make_plan(), launch, FakeClock())
    assert client.health().reason == "the engine is starting"
    with pytest.raises(EngineDied, match="m: is cut short"):
        await client.start()
    await client.stop()
    await launch.join()


async def test_a_process_that_cannot_be_started_says_why(make_plan):
    async def launch():
        raise OSError("no more processes")

    client = EngineClient(make_plan(), launch, FakeClock())
    with pytest.raises(EngineDied, match="no more processes"):
        await client.start()


async def test_requests_of_a_stopped_engine_end(make_plan, make_request, launcher):
    stopped = threading.Event()

    def before(step):
        if step.number > 1:
            stopped.wait(5)

    launch = launcher(lambda plan: FakeRunner(before))
    client = EngineClient(make_plan(), launch, FakeClock())
    await client.stop()  # before its start: nothing to do
    client = EngineClient(make_plan(), launch, FakeClock())
    await client.start()
    async with aclosing(client.submit(make_request(max_tokens=60))) as deltas:
        await anext(deltas)
        await client.stop()
        stopped.set()
        with pytest.raises(EngineDied, match="stopped"):
            [delta async for delta in deltas]
    await launch.join()


async def test_an_engine_that_hangs_is_not_healthy(make_plan, make_request, launcher):
    clock = FakeClock()
    stuck = asyncio.Event()
    loop = asyncio.get_running_loop()

    def before(step):
        asyncio.run_coroutine_threadsafe(stuck.wait(), loop).result()

    async with running(make_plan(), launcher(lambda plan: FakeRunner(before)), clock) as client:
        answer = asyncio.create_task(collect(client, make_request(max_tokens=1)))
        await asyncio.sleep(0.01)
        assert client.health().progressing, "a step may take its time"
        clock.advance(STALL + 1)
        assert not client.health().progressing
        assert "no step has ended" in client.health().reason
        stuck.set()
        await answer
        assert client.health().progressing


class Script:
    """A link whose events the test writes, and whose commands it reads."""

    def __init__(self) -> None:
        self.events_to_come: asyncio.Queue[Event | None] = asyncio.Queue()
        self.sent: list[Command] = []

    async def __call__(self) -> "Script":
        return self

    def send(self, command: Command) -> None:
        self.sent.append(command)

    async def events(self):
        while (event := await self.events_to_come.get()) is not None:
            yield event

    async def close(self) -> None: ...

    async def says(self, *events: Event | None) -> None:
        for event in events:
            self.events_to_come.put_nowait(event)
        for _ in range(10):
            await asyncio.sleep(0)


async def test_what_comes_for_a_reader_that_left_is_dropped(make_plan):
    """Deltas and refusals may cross a cancellation on their way."""
    script = Script()
    await script.says(Ready())
    async with running(make_plan(), script) as client:
        await script.says(Deltas((Delta("gone", (), "stop"),), Stats(steps=3)))
        await script.says(Refused("gone", "full", 1.0))
        assert client.stats().steps == 3


async def test_what_has_ended_is_neither_replayed_nor_failed(make_plan, make_request):
    script = Script()
    await script.says(Ready())
    async with running(make_plan(), script, patience=replace(QUICK, deaths=1)) as client:
        deltas = client.submit(make_request(id="a"))
        reading = asyncio.create_task(anext(deltas))
        await script.says(Deltas((Delta("a", (), None),), Stats()))
        await reading  # the reader now does something else
        await script.says(Deltas((Delta("a", (), "stop"),), Stats()), None)
        await until(lambda: len(script.sent) == 3)  # Start, Submit, Start
        await script.says(Ready(), None)  # and dies again: patience ends
        await until(lambda: not client.health().alive)
        assert [type(command) for command in script.sent] == [Start, Submit, Start]
        assert (await anext(deltas)).finish == "stop"
        await deltas.aclose()


async def test_a_killed_process_is_replaced_in_the_midst_of_streams(make_plan, make_request):
    links: list[ProcessLink] = []

    async def launch() -> ProcessLink:
        links.append(await ProcessLink.launch("tests_engine_slow:build"))
        return links[-1]

    requests = [make_request((n,), max_tokens=40) for n in range(4)]
    async with running(make_plan(), launch) as client:
        answers = [asyncio.create_task(collect(client, request)) for request in requests]
        await until(lambda: client.stats().steps > 5)
        os.kill(links[0].process.pid, signal.SIGKILL)
        outputs = await asyncio.gather(*answers)
    assert len(links) == 2
    assert links[1].process.poll() is not None
    for request, output in zip(requests, outputs, strict=True):
        assert output == continuation(request.prompt, 40)


@pytest.fixture(autouse=True)
def _slow_runner(tmp_path, monkeypatch):
    """A module that a worker process can import: steps that leave time to be killed in."""
    (tmp_path / "tests_engine_slow.py").write_text(
        "import time\n"
        "from vilfredo.runner.fake import FakeRunner\n"
        "def build(plan):\n"
        "    return FakeRunner(lambda step: time.sleep(0.005))\n"
    )
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))


async def test_a_worker_that_does_not_end_is_killed(monkeypatch, tmp_path):
    (tmp_path / "tests_engine_deaf.py").write_text("import time\ntime.sleep(60)\n")
    monkeypatch.setattr(ProcessLink, "GRACE", 0.05)
    link = await ProcessLink.launch("tests_engine_deaf:build")
    await link.close()
    assert link.process.returncode == -signal.SIGKILL


async def test_a_broken_connection_is_an_end():
    class Broken:
        async def read(self, count):
            raise ConnectionResetError

    link = SocketLink(Broken(), None)  # pyright: ignore[reportArgumentType]
    assert [event async for event in link.events()] == []


async def test_what_is_asked_while_an_engine_starts_waits_for_it(make_plan, make_request):
    script = Script()
    await script.says(Ready())
    async with running(make_plan(), script) as client:
        await script.says(None)  # it dies at once
        assert not client.health().ready
        request = make_request(id="a")
        reading = asyncio.create_task(collect(client, request))
        await asyncio.sleep(0)
        assert Submit(request) not in script.sent
        await script.says(Ready(), Deltas((Delta("a", (), "stop"),), Stats()))
        await until(reading.done)
        assert script.sent[-1] == Submit(request)


async def test_a_crash_under_full_load_loses_nothing(make_plan, make_request, launcher):
    """As many wait as may and others run: the next engine is given more than its queue holds."""
    begun, told = threading.Event(), threading.Event()
    steps_of_two = itertools.count()

    def before(step):
        begun.wait(5)
        if len(step.spans) == 2:
            match next(steps_of_two):
                case 1:
                    told.wait(5)
                case 3:  # since then those that wait were taken in
                    raise Crash

    launch = launcher(lambda plan: FakeRunner(before), fake)
    requests = [make_request((n,), max_tokens=30) for n in range(4)]
    async with running(make_plan(max_sequences=2, max_waiting=2), launch) as client:
        answers = [asyncio.create_task(collect(client, each)) for each in requests[:2]]
        await asyncio.sleep(0)
        begun.set()
        await until(lambda: client.stats().running == 2)
        answers += [asyncio.create_task(collect(client, each)) for each in requests[2:]]
        await asyncio.sleep(0)
        told.set()
        outputs = await asyncio.gather(*answers)
    assert launch.launched == 2
    assert outputs == [continuation(each.prompt, 30) for each in requests]


async def test_a_request_is_not_blamed_for_engines_that_never_had_it(make_plan, make_request):
    script = Script()
    await script.says(Ready())
    async with running(make_plan(), script, patience=replace(QUICK, crashes=2)) as client:
        await script.says(None)
        reading = asyncio.create_task(collect(client, make_request(id="a")))
        await script.says(Died("no memory"), None, Died("no memory"), None)
        await script.says(Ready(), Deltas((Delta("a", (), "stop"),), Stats()))
        assert await reading == []


async def test_what_was_told_to_an_engine_that_died_is_marked_as_accepted(make_plan, make_request):
    script = Script()
    await script.says(Ready())
    async with running(make_plan(), script) as client:
        request = make_request(id="a", output=(4,))
        reading = asyncio.create_task(collect(client, request))
        await script.says(Deltas((Delta("a", (Sampled(5),)),), Stats()), None, Ready())
        await script.says(Deltas((Delta("a", (Sampled(6),), "stop"),), Stats()))
        assert await reading == [5, 6]
        assert script.sent == [
            Start(make_plan()),
            Submit(request),
            Start(make_plan()),
            Submit(replace(request, output=(4, 5)), accepted=True),
        ]


@pytest.mark.parametrize("bad", [{"sampling": Sampling(seed=2**70)}, {"tenant": "\ud800"}])
async def test_what_cannot_be_told_ends_its_request_alone(make_plan, make_request, launcher, bad):
    launch = launcher(fake)
    client = EngineClient(make_plan(), launch, FakeClock())
    early = asyncio.create_task(collect(client, make_request(**bad)))
    await asyncio.sleep(0)  # no engine is ready yet
    await client.start()
    for reading in (early, collect(client, make_request(**bad))):
        with pytest.raises(InvalidInput, match="cannot be told"):
            await reading
    assert await collect(client, make_request((5,))) == continuation((5,), 5)
    await client.stop()
    await launch.join()


async def test_an_engine_at_rest_is_healthy_and_so_is_its_first_step_after(make_plan, make_request):
    clock, script = FakeClock(), Script()
    await script.says(Ready())
    async with running(make_plan(), script, clock) as client:
        clock.advance(3600)
        assert client.health().progressing
        first = asyncio.create_task(collect(client, make_request(id="a")))
        await asyncio.sleep(0)
        assert client.health().progressing
        clock.advance(STALL - 1)
        second = asyncio.create_task(collect(client, make_request(id="b")))
        await asyncio.sleep(0)
        clock.advance(2)
        assert not client.health().progressing, "a newcomer is no sign of progress"
        await script.says(Deltas((Delta("a", (), "stop"), Delta("b", (), "stop")), Stats()))
        await asyncio.gather(first, second)


async def test_a_reader_that_is_behind_does_not_make_the_engine_ill(make_plan, make_request):
    clock, script = FakeClock(), Script()
    await script.says(Ready())
    async with running(make_plan(), script, clock) as client:
        deltas = client.submit(make_request(id="a"))
        reading = asyncio.create_task(anext(deltas))
        await script.says(Deltas((Delta("a", ()),), Stats()))
        await reading
        await script.says(Deltas((Delta("a", (), "stop"),), Stats()))
        clock.advance(STALL + 1)
        assert client.health().progressing
        await deltas.aclose()


async def test_how_long_a_step_may_take_can_be_said(make_plan, make_request):
    clock, script = FakeClock(), Script()
    await script.says(Ready())
    client = EngineClient(make_plan(), script, clock, stall=5.0)
    await client.start()
    reading = asyncio.create_task(collect(client, make_request(id="a")))
    await asyncio.sleep(0)
    clock.advance(6)
    assert client.health().reason == "no step has ended for 6 s"
    await client.stop()
    with pytest.raises(EngineDied, match="stopped"):
        await reading


async def test_a_fault_of_the_keeper_ends_everything_with_its_reason(make_plan, make_request):
    script = Script()

    def fail(command):
        raise ZeroDivisionError("oops")

    async def launch():
        raise ZeroDivisionError("oops")

    client = EngineClient(make_plan(), launch, FakeClock())
    with pytest.raises(EngineDied, match="ZeroDivisionError: oops"):
        await client.start()
    await client.stop()

    await script.says(Ready())
    client = EngineClient(make_plan(), script, FakeClock(), QUICK)
    await client.start()
    reading = asyncio.create_task(collect(client, make_request()))
    await asyncio.sleep(0)
    script.send = fail
    await script.says(None)
    with pytest.raises(EngineDied, match="ZeroDivisionError: oops"):
        await reading
    assert not client.health().alive
    await client.stop()


async def test_the_last_death_is_told_and_a_stop_is_none(make_plan):
    script = Script()
    await script.says(Ready())
    async with running(make_plan(), script, patience=replace(QUICK, deaths=1)) as client:
        died = asyncio.create_task(client.died())
        await script.says(None, Ready())
        await until(lambda: client.health().ready)
        assert not died.done()
        await script.says(Died("no memory"), None)
        with pytest.raises(EngineDied, match="no engine will be started again: no memory"):
            await died
    await script.says(Ready())
    async with running(make_plan(), script) as client:
        died = asyncio.create_task(client.died())
        await asyncio.sleep(0)
        await client.stop()
        await died


async def test_counters_do_not_go_back_when_an_engine_is_replaced(make_plan):
    script = Script()
    await script.says(Ready())
    async with running(make_plan(), script) as client:
        await script.says(Deltas((), Stats(steps=3, running=2)), None)
        assert (client.stats().steps, client.stats().running) == (3, 0)
        await script.says(Ready(), Deltas((), Stats(steps=1, running=1)))
        await until(lambda: client.stats().steps == 4)
        assert client.stats().running == 1


async def test_the_terminal_s_interrupt_is_for_the_parent_alone():
    link = await ProcessLink.launch("vilfredo.runner.fake:FakeRunner")
    assert os.getsid(link.process.pid) != os.getsid(0)
    await link.close()
