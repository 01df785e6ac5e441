"""What holds after any history. The world itself checks every step: see its conftest."""

from functools import partial
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from vilfredo.base.errors import Overloaded

# Few tokens and few borders, so that prefixes are shared often.
PROMPTS = st.builds(
    lambda kinds, rest: [kind for kind in kinds for _ in range(4)] + rest,
    st.lists(st.integers(0, 1), max_size=4),
    st.lists(st.integers(0, 1), min_size=1, max_size=5),
)
ADD = st.tuples(
    st.just("add"), PROMPTS, st.integers(1, 20), st.sampled_from(["", "", "other"]), st.booleans()
)
STEP = st.tuples(st.just("step"), st.integers(1, 3))
HARM = st.tuples(st.sampled_from(["cancel", "cancel meanwhile", "fail"]), st.integers(0, 7))
HISTORIES = st.lists(st.one_of(ADD, STEP, ADD, STEP, HARM), max_size=40)
NUMBERS = st.fixed_dictionaries(
    {
        "blocks": st.integers(6, 14),
        "max_sequences": st.integers(1, 6),
        "token_budget": st.integers(1, 12),
    }
)


def live(world: Any, history: list[Any]) -> None:
    for number, event in enumerate(history):
        match event:
            case "add", prompt, max_tokens, tenant, stops:
                stop = tuple(range(0, 50, 4)) if stops else ()
                try:
                    world.add(f"{number}", prompt, max_tokens, tenant, stop)
                except Overloaded:
                    assert world.scheduler.waiting > 0
            case "step", count:
                for _ in range(count):
                    world.step()
            case harm, index if world.live:
                name = list(world.live)[index % len(world.live)]
                match harm:
                    case "cancel":
                        world.cancel(name)
                    case "cancel meanwhile":
                        world.step(meanwhile=partial(world.cancel, name))
                    case "fail":
                        world.step(fail=name)


@settings(max_examples=60, deadline=None)
@given(numbers=NUMBERS, history=HISTORIES)
def test_every_history_ends_well_and_again_the_same(
    world: Any, numbers: dict[str, int], history: list[Any]
):
    traces = []
    for _ in range(2):
        it = world(**numbers)
        live(it, history)
        it.drain()
        traces.append(it.trace)
    assert traces[0] == traces[1]
