from collections import Counter

from hypothesis import given, settings
from hypothesis import strategies as st

from vilfredo.core.blocks import BlockPool, extend_keys

TOKENS = st.lists(st.integers(0, 1), max_size=13)


def keys_of(tokens: list[int], tenant: str = "", block_tokens: int = 4) -> list[bytes]:
    keys: list[bytes] = []
    extend_keys(keys, tenant, tokens, block_tokens)
    return keys


@settings(max_examples=50, deadline=None)
@given(first=TOKENS, second=TOKENS, size=st.integers(1, 5))
def test_two_keys_are_equal_where_all_tokens_so_far_are(
    first: list[int], second: list[int], size: int
):
    ours, theirs = keys_of(first, "", size), keys_of(second, "", size)
    assert (len(ours), len(theirs)) == (len(first) // size, len(second) // size)
    for index, (one, other) in enumerate(zip(ours, theirs, strict=False)):
        end = (index + 1) * size
        assert (one == other) == (first[:end] == second[:end])


@settings(max_examples=50, deadline=None)
@given(tokens=TOKENS, cut=st.integers(0, 13))
def test_keys_grow_as_tokens_come(tokens: list[int], cut: int):
    keys = keys_of(tokens[:cut])
    extend_keys(keys, "", tokens, 4)
    assert keys == keys_of(tokens)


def test_no_key_of_one_tenant_is_anothers():
    tokens = list(range(40))
    assert not set(keys_of(tokens, "a")) & set(keys_of(tokens, "b"))
    assert not set(keys_of(tokens, "")) & set(keys_of(tokens, "a"))


def test_tokens_do_not_run_into_each_other():
    assert keys_of([1, 11], block_tokens=2) != keys_of([11, 1], block_tokens=2)
    assert keys_of([256], block_tokens=1) != keys_of([1], block_tokens=1)


def test_a_parent_outlives_its_children():
    pool, keys = BlockPool(4), keys_of(list(range(16)))
    chain = [pool.publish(pool.take(), key) for key in keys]
    for block in reversed(chain):
        pool.free(block)
    for left in (3, 2, 1, 0):
        pool.take()
        assert pool.find(keys) == chain[:left]
        assert pool.available == left


def test_what_was_used_last_is_kept_longest():
    pool = BlockPool(2)
    old, new = (pool.publish(pool.take(), key) for key in (b"old", b"new"))
    pool.free(old)
    pool.free(new)
    pool.share(old)
    pool.free(old)
    assert pool.take() == new
    assert pool.find([b"old"]) == [old]


def test_blank_blocks_go_before_cached_ones():
    pool = BlockPool(2)
    cached = pool.publish(pool.take(), b"key")
    pool.free(cached)
    assert pool.take() != cached
    assert pool.find([b"key"]) == [cached]


def test_of_two_alike_one_stays():
    pool = BlockPool(2)
    first, second = pool.take(), pool.take()
    assert pool.publish(first, b"key") == first
    assert pool.publish(second, b"key") == first
    assert pool.available == 1
    pool.free(first)
    assert pool.is_held(first)
    pool.free(first)
    assert not pool.is_held(first)


def test_a_forgotten_block_is_blank_once_it_is_free():
    pool = BlockPool(1)
    block = pool.publish(pool.take(), b"key")
    pool.forget(block)
    pool.forget(block)
    assert pool.find([b"key"]) == []
    pool.free(block)
    assert pool.available == 1
    assert pool.find([b"key"]) == []


@settings(max_examples=60, deadline=None)
@given(
    total=st.integers(1, 6),
    events=st.lists(st.tuples(st.sampled_from(["take", "share", "free", "publish", "forget"]),
                              st.integers(0, 9)), max_size=60),
)  # fmt: skip
def test_every_block_is_accounted_for(total: int, events: list[tuple[str, int]]):
    """Against a plain model: how often each block is held, and what it is known to hold."""
    pool, held, content = BlockPool(total), Counter[int](), dict[bytes, int]()
    for what, number in events:
        holding = sorted(held)
        block = holding[number % len(holding)] if holding else None
        key = b"%d" % (number % 4)
        if what == "take" and pool.available:
            block = pool.take()
            assert block not in held
            content = {k: b for k, b in content.items() if b != block}
            held[block] = 1
        elif what == "share" and key in content:
            pool.share(content[key])
            held[content[key]] += 1
        elif block is None:
            continue
        elif what == "free":
            pool.free(block)
            held = held - Counter([block])
        elif what == "publish" and block not in content.values():
            holds = pool.publish(block, key)
            assert holds == content.setdefault(key, block)
            held = held - Counter([block]) + Counter([holds])
        elif what == "forget":
            pool.forget(block)
            content = {k: b for k, b in content.items() if b != block}
        assert pool.available == total - len(held)
        assert {b for b in range(total) if pool.is_held(b)} == set(held)
        assert {k: b for k in (b"0", b"1", b"2", b"3") for b in pool.find([k])} == content
    for block in held.elements():
        pool.free(block)
    assert sorted(pool.take() for _ in range(pool.available)) == list(range(total))
