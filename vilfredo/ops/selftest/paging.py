"""Checks of the ops over the paged cache: store and attention."""

from collections.abc import Iterator, Sequence

import numpy as np

from vilfredo.ops.reference import ReferenceKernels
from vilfredo.ops.selftest.report import Check, compare
from vilfredo.ops.table import Kernels, LayerCache, SpanBatch

Random = np.random.Generator
SPANS = ((0, 7), (31, 1), (5, 20), (9, 0), (0, 1), (16, 16), (600, 3))  # start and count
ATTENTION = 1e-4  # of the largest value: float32 sums, and an approximation of exp


def store_checks(kernels: Kernels, random: Random, short: bool) -> Iterator[Check]:
    reference = ReferenceKernels()
    shapes = ((11, 3, 64, 16),) if short else ((11, 3, 64, 16), (0, 1, 16, 16), (40, 2, 256, 32))
    for n, kv_heads, head_dim, block_tokens in shapes:
        keys, values = (
            random.standard_normal((n, kv_heads, head_dim), np.float32) for _ in range(2)
        )
        keys[: n // 2] *= 1e-6  # float16 has few bits there
        slots = random.permutation(5 * block_tokens)[:n].astype(np.int32)
        ours, theirs = (_cache(5, kv_heads, head_dim, block_tokens, 7.0) for _ in range(2))
        kernels.store(keys, values, ours, slots)
        reference.store(keys, values, theirs, slots)
        case = f"{n} tokens, {kv_heads}x{head_dim}, blocks of {block_tokens}"
        yield compare("store", f"{case}: keys", ours.keys, theirs.keys)
        yield compare("store", f"{case}: values", ours.values, theirs.values)


def attention_checks(kernels: Kernels, random: Random, short: bool) -> Iterator[Check]:
    """Spans that begin anywhere, beside blocks full of NaN, which nobody may see: a block keeps
    what its last owner left in it."""
    shapes = ((9, 3, 64, 16),) if short else ((9, 3, 64, 16), (4, 1, 256, 16), (2, 2, 32, 32))
    variants = ((0, 0.0, 1.0), (8, 30.0, 1.0))
    if not short:
        variants = (*variants, (1, 0.0, 1.0), (17, 0.0, 1.0), (0, 50.0, 30.0), (0, 0.0, 20.0))
    for heads, kv_heads, head_dim, block_tokens in shapes:
        for window, softcap, size in variants:
            case = f"{heads}/{kv_heads}x{head_dim}, window {window}, softcap {softcap:g}"
            batch, cache = _past(random, SPANS, kv_heads, head_dim, block_tokens)
            shape = (int(batch.borders[-1]), heads, head_dim)
            queries = random.standard_normal(shape, np.float32) * np.float32(size)
            expected, actual = np.empty_like(queries), np.full_like(queries, np.nan)
            call = (queries, cache, batch, head_dim**-0.5, window, softcap)
            ReferenceKernels().attention(*call, expected)
            kernels.attention(*call, actual)
            allowed = ATTENTION * float(np.nanmax(np.abs(cache.values)))
            yield compare("attention", f"{case}, queries * {size:g}", actual, expected, allowed)
    empty = np.empty((0, 2, 32), np.float32)
    none, table = np.empty(0, np.int32), np.empty((0, 1), np.int32)
    batch = SpanBatch(np.zeros(1, np.int32), none, table)
    kernels.attention(empty, _cache(1, 2, 32, 16, 0.0), batch, 1.0, 0, 0.0, empty)


def _past(
    random: Random,
    spans: Sequence[tuple[int, int]],
    kv_heads: int,
    head_dim: int,
    block_tokens: int,
) -> tuple[SpanBatch, LayerCache]:
    """A cache that holds every token up to each span's end, in shuffled blocks; NaN elsewhere."""
    ends = [start + count for start, count in spans]
    needs = [-(-end // block_tokens) for end in ends]
    tables = np.full((len(spans), max(needs) + 1), -1, np.int32)
    free = random.permutation(sum(needs) + 3).astype(np.int32)
    cache = _cache(len(free), kv_heads, head_dim, block_tokens, np.nan)
    for row, (end, need) in enumerate(zip(ends, needs, strict=True)):
        tables[row, :need], free = free[:need], free[need:]
        position = np.arange(end)
        slots = tables[row, position // block_tokens] * block_tokens + position % block_tokens
        shape = (end, kv_heads, head_dim)
        keys, values = (random.standard_normal(shape, np.float32) for _ in range(2))
        ReferenceKernels().store(keys, values, cache, slots.astype(np.int32))
    starts = np.array([start for start, _ in spans], np.int32)
    borders = np.cumsum([0, *(count for _, count in spans)], dtype=np.int32)
    return SpanBatch(borders, starts, tables), cache


def _cache(blocks: int, kv_heads: int, head_dim: int, block_tokens: int, fill: float) -> LayerCache:
    return LayerCache(
        keys=np.full((blocks, kv_heads, head_dim, block_tokens), fill, np.float16),
        values=np.full((blocks, kv_heads, block_tokens, head_dim), fill, np.float16),
    )
