import asyncio

import pytest

from vilfredo.base.errors import EngineDied
from vilfredo.core.step import Sampled
from vilfredo.engine.flight import Flight
from vilfredo.engine.messages import Delta


def delta(*tokens: int, finish: str | None = None) -> Delta:
    return Delta("r", tuple(map(Sampled, tokens)), finish, cached=3)


async def test_a_slow_reader_gets_everything_in_one_delta(make_request):
    flight = Flight(make_request())
    flight.put(delta(1))
    assert await flight.take() == delta(1)
    flight.put(delta(2))
    flight.put(delta(3))
    flight.put(delta(4, finish="stop"))
    assert await flight.take() == delta(2, 3, 4, finish="stop")
    assert flight.ended


async def test_a_reader_waits(make_request):
    flight = Flight(make_request())
    taking = asyncio.create_task(flight.take())
    await asyncio.sleep(0)
    assert not taking.done()
    flight.put(delta(1))
    assert await taking == delta(1)


async def test_an_error_comes_after_what_was_given_out_before(make_request):
    flight = Flight(make_request())
    flight.put(delta(1))
    flight.fail(EngineDied("no more"))
    assert await flight.take() == delta(1)
    for _ in range(2):
        with pytest.raises(EngineDied, match="no more"):
            await flight.take()


def test_a_resumed_request_holds_all_that_was_given_out(make_request):
    flight = Flight(make_request(output=(7,)))
    flight.put(delta(1, 2))
    assert flight.resumed().output == (7, 1, 2)
