import dataclasses

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vilfredo.base.errors import InvalidInput
from vilfredo.base.plan import DEFAULT_CONTEXT, OFF, Facts, decide
from vilfredo.base.settings import AUTO, Settings

FACTS = Facts(
    context=2048,
    weight_bytes=100_000_000,
    kv_bytes_per_token=1000,
    cores=4,
    memory_bytes=8_000_000_000,
    table="avx2",
    packed_cache="cache/packed",
)


def plan_for(settings: Settings, **facts: int):
    return decide(settings, "a/model.gguf", "model", dataclasses.replace(FACTS, **facts))


def test_every_auto_is_resolved():
    plan = plan_for(Settings())
    assert (plan.table, plan.threads, plan.context) == ("avx2", 4, 2048)
    assert plan.blocks == 64 * (2048 // 16)  # a full context for every sequence
    assert AUTO not in dataclasses.astuple(plan)


def test_what_was_asked_is_what_is_decided():
    plan = plan_for(Settings(threads=1, context=1000, kv_megabytes=2))
    assert (plan.threads, plan.context) == (1, 1000)
    assert plan.table == "avx2", "whoever knows the machine has resolved what was asked"
    assert plan.blocks == 2_000_000 // (16 * 1000)


@pytest.mark.parametrize(("asked", "decided"), [(AUTO, "cache/packed"), (OFF, OFF), ("a", "a")])
def test_packed_weights_are_kept_where_it_was_asked(asked, decided):
    assert plan_for(Settings(packed_cache=asked)).packed_cache == decided


def test_a_long_model_context_is_cut_unless_asked_for():
    assert plan_for(Settings(), context=131_072).context == DEFAULT_CONTEXT
    assert plan_for(Settings(context=100_000), context=131_072).context == 100_000


def test_a_context_beyond_the_models_is_refused_with_both_numbers():
    with pytest.raises(InvalidInput, match=r"4096 is over the model's own 2048") as caught:
        plan_for(Settings(context=4096))
    assert caught.value.field == "context"


def test_the_least_cache_that_the_message_names_is_enough():
    with pytest.raises(InvalidInput, match="one sequence of 2048 tokens needs 3, not 2"):
        plan_for(Settings(kv_megabytes=2))
    assert plan_for(Settings(kv_megabytes=3)).blocks >= 128


def test_a_cache_larger_than_the_memory_is_refused():
    with pytest.raises(InvalidInput, match="kv_megabytes: 133 is over the 132 free"):
        plan_for(Settings(kv_megabytes=133), memory_bytes=132_000_000)


def test_the_cache_takes_at_most_half_of_what_the_weights_leave():
    plan = plan_for(Settings(), memory_bytes=132_000_000)
    assert plan.blocks == 16_000_000 // (16 * 1000)


@given(
    context=st.integers(1, 10_000),
    block_tokens=st.integers(1, 64),
    max_sequences=st.integers(1, 100),
    memory=st.integers(0, 10**9),
)
def test_one_full_context_always_fits(
    context: int, block_tokens: int, max_sequences: int, memory: int
):
    settings = Settings(block_tokens=block_tokens, max_sequences=max_sequences)
    plan = plan_for(settings, context=context, memory_bytes=memory)
    assert plan.blocks * plan.block_tokens >= plan.context


def test_describe_gives_every_number_a_line():
    lines = plan_for(Settings()).describe().splitlines()
    assert lines[0] == "model = a/model.gguf"
    assert "token_budget = 512" in lines
    assert len(lines) == 12
