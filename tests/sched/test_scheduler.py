from collections.abc import Callable
from typing import Any

import pytest

from vilfredo.base.errors import InvalidInput
from vilfredo.core.sequence import Finish, State


def spans(step: Any) -> list[tuple[str, int, int, bool]]:
    return [(s.sequence.request.id, s.start, s.count, s.samples) for s in step.spans]


def until(world: Any, happened: Callable[[], bool]) -> None:
    while not happened():
        assert world.step() is not None


def test_without_work_there_is_no_step(world: Any):
    assert world().scheduler.schedule(0.0) is None


def test_a_long_prompt_is_computed_in_chunks_and_samples_once(world: Any):
    it = world(token_budget=8)
    it.add("a", list(range(20)))
    steps = [it.step() for _ in range(4)]
    assert [spans(step) for step in steps] == [
        [("a", 0, 8, False)],
        [("a", 8, 8, False)],
        [("a", 16, 4, True)],
        [("a", 20, 1, True)],
    ]
    assert [step.number for step in steps] == [1, 2, 3, 4]


def test_a_prompt_never_holds_up_those_that_generate(world: Any):
    it = world(token_budget=4)
    it.add("talks", [7, 8], max_tokens=9)
    it.step()
    it.add("reads", list(range(8)))
    it.add("waits", [9])
    assert spans(it.step()) == [("talks", 2, 1, True), ("reads", 0, 3, False)]
    assert spans(it.step()) == [("talks", 3, 1, True), ("reads", 3, 3, False)]
    assert spans(it.step()) == [
        ("talks", 4, 1, True),
        ("reads", 6, 2, True),
        ("waits", 0, 1, True),
    ]


@pytest.mark.parametrize(
    ("numbers", "running"), [({"max_sequences": 2}, 2), ({"token_budget": 3}, 3)]
)
def test_no_more_run_than_may_and_than_get_a_token_a_step(
    world: Any, numbers: dict[str, int], running: int
):
    it = world(**numbers)
    for name in "abcde":
        it.add(name, [ord(name)], max_tokens=5)
    for _ in range(4):
        it.step()
    assert (it.scheduler.running, it.scheduler.waiting) == (running, 5 - running)
    it.drain()


def test_a_prefix_is_found_but_the_last_token_is_always_computed(world: Any):
    it = world()
    prompt = list(range(8))
    for name, more, cached in (("a", [], 0), ("b", [], 4), ("c", [8], 8), ("d", [8, 9], 8)):
        sequence = it.add(name, prompt + more, max_tokens=1)
        it.drain()
        assert sequence.cached == cached
    assert (it.scheduler.prefix_queries, it.scheduler.prefix_hits) == (8 + 8 + 9 + 10, 20)


def test_output_is_found_by_the_turn_that_follows(world: Any):
    it = world()
    first = it.add("a", [1, 2, 3], max_tokens=6)
    it.drain()
    second = it.add("b", [*first.tokens, 4], max_tokens=1)
    it.drain()
    assert second.cached == 8


def test_the_cache_gives_up_the_ends_of_prefixes_first(world: Any):
    it = world()
    it.add("old", [1] * 20, max_tokens=1)
    it.drain()
    it.add("new", [2] * 23, max_tokens=1)
    it.drain()
    again = it.add("again", [1] * 20, max_tokens=1)
    it.drain()
    assert again.cached == 16


def test_tenants_share_nothing(world: Any):
    it = world()
    for tenant in ("a", "b", ""):
        sequence = it.add(tenant + "x", list(range(9)), tenant=tenant)
        it.drain()
        assert sequence.cached == 0


def test_three_hundred_calls_compute_their_common_prefix_once(world: Any):
    it = world(context=64, blocks=2000, max_sequences=300, token_budget=512, max_waiting=300,
               max_waiting_tokens=100_000)  # fmt: skip
    prefix = list(range(40))
    for number in range(300):
        it.add(f"{number}", [*prefix, number], max_tokens=1)
    computed = 0
    while (step := it.step()) is not None:
        computed += step.tokens
    assert computed == 40 + 300


def test_equal_sequences_under_way_hold_one_copy_of_what_is_equal(world: Any):
    it = world(token_budget=16)
    for name in "ab":
        it.add(name, [1, 2, 3], max_tokens=9)
    for _ in range(3):
        it.step()
    a, b = it.live["a"], it.live["b"]
    assert len(a.tokens) == 6
    assert a.blocks[0] == b.blocks[0]
    assert a.blocks[1] != b.blocks[1]
    assert it.scheduler.blocks_used == 3
    it.drain()


def test_the_last_admitted_gives_way_and_goes_to_the_front(world: Any):
    it = world(blocks=6, max_sequences=2)
    first = it.add("first", [1] * 7, max_tokens=17)
    second = it.add("second", [2] * 7, max_tokens=17)
    it.add("third", [3])
    until(it, lambda: it.scheduler.preemptions == 1)
    assert (first.state, second.state) == (State.RUNNING, State.WAITING)
    assert (len(second.blocks), second.computed) == (0, 0)
    assert second.output_count > 0
    assert it.scheduler.waiting == 2
    until(it, lambda: second.state is State.RUNNING)
    assert "third" not in {name for step in it.trace[:-1] for name, *_ in step}
    it.drain()


def test_who_gave_way_computes_again_only_what_the_cache_has_not(world: Any):
    it = world(context=16, blocks=5)
    it.add("first", [1] * 6, max_tokens=10)
    second = it.add("second", [2] * 5, max_tokens=6)
    until(it, lambda: it.scheduler.preemptions == 1)
    it.cancel("first")
    queries, length = it.scheduler.prefix_queries, len(second.tokens)
    assert length > 8  # two full blocks: both are found, though nobody held them
    assert spans(it.step()) == [("second", 8, length - 8, True)]
    assert (second.cached, it.scheduler.prefix_queries) == (0, queries)  # as when it first came


def test_a_newcomer_waits_unless_those_who_run_can_still_grow(world: Any):
    it = world(blocks=5, context=20)
    it.add("a", [1] * 8, max_tokens=9)
    it.add("b", [2] * 8, max_tokens=4)
    it.add("c", [3] * 4, max_tokens=2)
    it.step()
    it.step()
    assert it.scheduler.waiting == 2  # b takes two of the two that are left, and a may need one
    it.drain()
    assert it.scheduler.preemptions == 0


def test_crowded_sequences_do_not_take_turns_in_giving_way(world: Any):
    it = world(context=48, blocks=12, max_sequences=4)
    for number in range(4):
        it.add(f"{number}", [number] * 4, max_tokens=40)
    it.drain()
    assert it.scheduler.preemptions <= 6


def test_cancel_frees_at_once_whoever_it_is(world: Any):
    it = world(max_sequences=1)
    it.add("running", [1] * 9)
    it.add("waiting", [2] * 9)
    it.step()
    assert it.scheduler.blocks_used == 3
    it.cancel("waiting")
    it.cancel("running")
    assert it.scheduler.blocks_used == 0
    assert not it.scheduler.has_work
    assert it.scheduler.cancel("running") is None


def test_commit_passes_over_what_was_cancelled_meanwhile(world: Any):
    it = world()
    old = it.add("a", [1] * 4, max_tokens=1)
    other = it.add("b", [2] * 3)

    def replace() -> None:
        it.cancel("a")
        it.add("a", [1] * 4, max_tokens=1)

    it.step(meanwhile=replace)
    assert old.tokens == [1] * 4
    assert old.finish is Finish.CANCELLED
    assert other.output_count == 1
    assert it.live["a"].state is State.WAITING
    it.drain()
    assert it.ended["a"].cached == 0  # what the cancelled step computed is not trusted


def test_a_sequence_ends_by_a_stop_token_or_by_length(world: Any):
    it = world()
    free = it.add("free", [1, 2], max_tokens=6)
    it.drain()
    output = free.tokens[2:]
    assert free.finish is Finish.LENGTH
    stopped = it.add("stopped", [1, 2], max_tokens=6, stop=(output[2],))
    last = it.add("last", [1, 2], max_tokens=3, stop=(output[2],))
    full = it.add("full", [1, 2], max_tokens=99)
    it.drain()
    assert output[2] not in output[:2]
    assert (stopped.tokens[2:], stopped.finish) == (output[:3], Finish.STOP)
    assert (last.tokens[2:], last.finish) == (output[:3], Finish.STOP)
    assert (len(full.tokens), full.finish) == (24, Finish.LENGTH)


def test_a_failed_sequence_ends_alone_and_its_blocks_are_not_found(world: Any):
    it = world(token_budget=10)
    failed = it.add("failed", [1] * 12)
    other = it.add("other", [2] * 4)
    it.step()
    it.step(fail="failed")
    assert (failed.finish, failed.reason) == (Finish.ERROR, "not finite")
    assert len(failed.blocks) == 0
    again = it.add("again", [1] * 12)
    it.drain()
    assert again.cached == 0
    assert other.finish is Finish.LENGTH


def test_a_resumed_request_gives_only_what_is_still_to_come(world: Any):
    whole = world()
    sequence = whole.add("a", [1, 2, 3], max_tokens=9)
    whole.drain()
    given = tuple(sequence.tokens[3:8])
    it = world(token_budget=4)
    resumed = it.add("a", [1, 2, 3], max_tokens=9, output=given)
    assert [spans(it.step())[0] for _ in range(2)] == [("a", 0, 4, False), ("a", 4, 4, True)]
    assert resumed.tokens[8:] == sequence.tokens[8:9]
    it.drain()
    assert resumed.tokens == sequence.tokens
    after = it.add("b", [1, 2, 3], max_tokens=9, output=given)
    it.drain()
    assert after.cached == 3  # of the prompt; output that was found too is not counted
    assert it.scheduler.prefix_queries == 6


def test_too_few_blocks_for_one_context_are_refused(world: Any):
    with pytest.raises(InvalidInput, match="5 cannot hold one context of 24") as caught:
        world(blocks=5)
    assert caught.value.field == "blocks"
