import asyncio
from contextlib import aclosing

import pytest

from vilfredo.base.clock import FakeClock
from vilfredo.base.errors import EngineDied, Overloaded
from vilfredo.core.request import Limits, Request, Sampling
from vilfredo.core.step import Sampled
from vilfredo.engine.engine import Engine
from vilfredo.engine.fake import Answer, FakeDoor
from vilfredo.engine.messages import Delta
from vilfredo.runner.fake import FakeRunner, next_token


async def read(door: FakeDoor, request: Request) -> list[Delta]:
    return [delta async for delta in door.submit(request)]


async def test_it_echoes_within_the_limit(make_request):
    door = FakeDoor()
    short, long = make_request((1, 2), max_tokens=5), make_request((1, 2, 3), max_tokens=2)
    assert await read(door, short) == [
        Delta(short.id, (Sampled(1),)),
        Delta(short.id, (Sampled(2),), "stop"),
    ]
    assert (await read(door, long))[-1] == Delta(long.id, (Sampled(2),), "length")
    assert door.requests == [short, long]
    assert door.cancelled == []


async def test_it_answers_as_told_with_logprobs_where_asked(make_request):
    request = make_request(sampling=Sampling(logprobs=2))
    (delta,) = await read(FakeDoor(lambda request: Answer((7,), cached=2)), request)
    assert delta == Delta(request.id, (Sampled(7, -1.0, ((7, -1.0), (8, -2.0))),), "stop", cached=2)


async def test_an_answer_of_no_tokens_and_a_failure_end_in_a_delta_of_their_own(make_request):
    request = make_request()
    assert await read(FakeDoor(lambda request: Answer()), request) == [
        Delta(request.id, (), "stop")
    ]
    failed = Answer((7,), "error", "the step failed")
    assert await read(FakeDoor(lambda request: failed), request) == [
        Delta(request.id, (Sampled(7),)),
        Delta(request.id, (), "error", "the step failed"),
    ]


@pytest.mark.parametrize("error", [Overloaded("full", 2.0), EngineDied("gone")])
async def test_it_raises_what_it_is_told_to_after_the_tokens(make_request, error):
    door = FakeDoor(lambda request: Answer((7,), error=error))
    deltas = door.submit(make_request())
    assert (await anext(deltas)).tokens == (Sampled(7),)
    with pytest.raises(type(error)):
        await anext(deltas)
    assert door.cancelled == []


async def test_a_client_that_leaves_is_noted(make_request):
    door = FakeDoor(lambda request: Answer((7, 8), hangs=request.id == "hangs"))
    async with aclosing(door.submit(make_request(id="early"))) as deltas:
        await anext(deltas)
    reading = asyncio.create_task(read(door, make_request(id="hangs")))
    for _ in range(5):
        await asyncio.sleep(0)
    reading.cancel()
    with pytest.raises(asyncio.CancelledError):
        await reading
    assert door.cancelled == ["early", "hangs"]


def test_its_state_is_what_was_set():
    door = FakeDoor()
    assert door.health().progressing
    assert door.stats().blocks_used == 0


def test_a_runner_follows_its_script_and_goes_on(make_plan):
    engine = Engine(make_plan(), FakeRunner(scripts={"a": (7, 9)}), FakeClock())
    engine.submit(Request("a", (1,), Limits(3)))
    tokens: list[int] = []
    while engine.has_work:
        tokens += [each.token for delta in engine.step() for each in delta.tokens]
    assert tokens == [7, 9, next_token([1, 7, 9])]
