from typing import Any

import pytest

from vilfredo.base.errors import InvalidInput, Overloaded


@pytest.mark.parametrize(
    ("asked", "field", "says"),
    [
        ({"prompt": []}, "prompt", "at least one token"),
        ({"prompt": [1] * 24}, "prompt", "24 tokens leave no room for output in a context of 24"),
        ({"prompt": [1], "max_tokens": 0}, "max_tokens", "at least 1, not 0"),
        ({"prompt": [1], "max_tokens": 2, "output": (5, 6)}, "output", "complete"),
        ({"prompt": [1] * 20, "max_tokens": 9, "output": (5,) * 4}, "output", "complete"),
        ({"prompt": [1], "max_tokens": 9, "output": (5,), "stop": (5,)}, "output", "complete"),
    ],
)
def test_what_could_never_succeed_is_refused_by_name(
    world: Any, asked: dict[str, Any], field: str, says: str
):
    it = world()
    with pytest.raises(InvalidInput, match=says) as caught:
        it.add("a", **asked)
    assert caught.value.field == field
    assert not it.scheduler.has_work


def test_the_longest_prompt_still_gives_a_token(world: Any):
    it = world()
    it.add("a", [1] * 23, max_tokens=9)
    it.drain()
    assert it.ended["a"].output_count == 1


def test_an_id_in_use_is_refused_wherever_it_is(world: Any):
    it = world(max_sequences=1)
    it.add("running", [1, 2])
    it.step()
    it.add("waiting", [1, 2])
    for name in ("running", "waiting"):
        with pytest.raises(InvalidInput, match="already in use"):
            it.scheduler.add(it.live[name].request, 0.0)
    it.drain()
    it.add("running", [1, 2])


def test_requests_in_the_queue_are_bounded(world: Any):
    it = world(max_waiting=3)
    for name in "abc":
        it.add(name, [1])
    with pytest.raises(Overloaded, match="3 requests wait"):
        it.add("d", [1])
    it.cancel("b")
    it.add("d", [1])


def test_prompt_tokens_in_the_queue_are_bounded_but_one_prompt_always_may_wait(world: Any):
    it = world(max_waiting_tokens=10)
    it.add("long", [1] * 15)
    with pytest.raises(Overloaded, match="15 prompt tokens wait"):
        it.add("short", [1])
    it.cancel("long")
    it.add("a", [1] * 6)
    it.add("b", [1] * 4)
    with pytest.raises(Overloaded):
        it.add("c", [1])


@pytest.mark.parametrize(("waited", "retry_after"), [(0.25, 1.0), (7.5, 7.5), (900.0, 60.0)])
def test_come_back_after_as_long_as_the_last_one_waited(
    world: Any, waited: float, retry_after: float
):
    it = world(max_waiting=1)
    it.add("a", [1])
    it.scheduler.schedule(waited)
    it.add("b", [1])
    with pytest.raises(Overloaded) as caught:
        it.add("c", [1])
    assert caught.value.retry_after == retry_after
