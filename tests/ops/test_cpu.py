"""The native tables: invariance to the last bit, exact storage, and refusal of bad shapes.

That each op computes what the reference does is the self-test's to show (test_selftest.py).
"""

import numpy as np
import pytest

from vilfredo.base.errors import Unsupported
from vilfredo.base.quants import FORMATS, dequantize
from vilfredo.base.tensor import RawTensor
from vilfredo.ops.cpu import CpuKernels, cpu_tables
from vilfredo.ops.table import LayerCache, SpanBatch

pytestmark = pytest.mark.parametrize("table", cpu_tables())

BLOCK = 16


def random_weight(format_name: str, rows: int, columns: int, seed: int = 0) -> RawTensor:
    """Random codes under sane scales: every byte that is not a float16 is random."""
    rng = np.random.default_rng(seed)
    form = FORMATS[format_name]
    if form.elements == 1:
        values = rng.standard_normal((rows, columns)).astype(np.float32)
        if format_name == "BF16":
            words = (values.view(np.uint32) >> 16).astype(np.uint16)
        else:
            words = values.astype({"F16": np.float16, "F32": np.float32}[format_name])
        return RawTensor("w", format_name, (rows, columns), words.reshape(-1).view(np.uint8))
    blocks = rng.integers(0, 256, (rows, columns // form.elements, form.nbytes), dtype=np.uint8)
    halves = {"Q4_1": (0, 2), "Q5_1": (0, 2), "Q4_K": (0, 2), "Q5_K": (0, 2), "Q6_K": (208,)}
    for place in halves.get(format_name, (0,)):
        scales = (rng.random(blocks.shape[:2]) * 0.01).astype(np.float16)
        blocks[:, :, place : place + 2] = scales[..., None].view(np.uint8)
    return RawTensor("w", format_name, (rows, columns), blocks.reshape(-1))


def product(kernels: CpuKernels, x: np.ndarray, weight) -> np.ndarray:
    out = np.empty((len(x), weight.rows), np.float32)
    kernels.linear(np.ascontiguousarray(x), weight, None, out)
    return out


@pytest.mark.parametrize("format_name", list(FORMATS))
def test_a_row_of_a_product_does_not_depend_on_the_rows_beside_it(table, format_name):
    one, two = CpuKernels(table, 1), CpuKernels(table, 2)
    weight = random_weight(format_name, 37, 512)
    x = np.random.default_rng(1).standard_normal((29, 512)).astype(np.float32)
    whole = product(one, x, one.pack(weight))
    shared = product(two, x, two.pack(weight))
    assert np.array_equal(whole, shared), "the number of threads changed a result"
    packed = one.pack(weight)
    # A table that is not invariant has one kernel for few rows and one for many, each of which is.
    few = whole if one.batch_invariant else product(one, x[:16], packed)
    for count in (1, 2, 3, 5, 8, 9, 13):
        assert np.array_equal(few[:count], product(one, x[:count], packed)), count
    for count in (17, 20, 28):
        assert np.array_equal(whole[:count], product(one, x[:count], packed)), count


@pytest.mark.parametrize("format_name", list(FORMATS))
def test_tables_of_equal_lanes_and_exact_sums_give_equal_bits(table, format_name):
    """The matrix unit's byte products are exact, so integers make the same floats as AVX-512's."""
    if table != "cpu-amx-exact":
        pytest.skip("one table has a twin")
    ours, theirs = CpuKernels(table, 2), CpuKernels("cpu-avx512", 2)
    x = np.random.default_rng(2).standard_normal((50, 512)).astype(np.float32)
    for rows in (1, 37):
        weight = random_weight(format_name, rows, 512)
        for count in (1, 8, 9, 16, 17, 24, 50):
            got = product(ours, x[:count], ours.pack(weight))
            assert np.array_equal(got, product(theirs, x[:count], theirs.pack(weight))), count


@pytest.mark.parametrize("format_name", list(FORMATS))
def test_packing_keeps_every_weight(table, format_name):
    """Embedding rows unpack the very weights: to the bit where the scales are the file's own, to
    the rounding of a product of two scales (2^-11) for the K formats."""
    kernels = CpuKernels(table, 2)
    weight = random_weight(format_name, 37, 512)
    expected = dequantize(weight)
    out = np.empty((37, 512), np.float32)
    kernels.embed(kernels.pack(weight), np.arange(37, dtype=np.int32), 1.0, out)
    if format_name.endswith("_K"):
        bound = 2.0**-10 * np.abs(expected).max()
        assert np.abs(out - expected).max() <= bound
    else:
        assert np.array_equal(out, expected)


def test_every_float16_is_read_as_numpy_reads_it(table):
    kernels = CpuKernels(table, 1)
    every = np.arange(65536, dtype=np.uint16).reshape(256, 256)
    weight = RawTensor("w", "F16", (256, 256), every.reshape(-1).view(np.uint8))
    out = np.empty((256, 256), np.float32)
    kernels.embed(kernels.pack(weight), np.arange(256, dtype=np.int32), 1.0, out)
    with np.errstate(invalid="ignore"):
        expected = every.view(np.float16).astype(np.float32)
    assert np.array_equal(out, expected, equal_nan=True)


def test_keys_and_values_are_rounded_as_numpy_rounds(table):
    kernels = CpuKernels(table, 1)
    rng = np.random.default_rng(2)
    bits = rng.integers(0, 2**32, (64, 1, 64), dtype=np.uint32)
    bits[:, :, :32] = (bits[:, :, :32] & 0x807FFFFF) | (rng.integers(96, 146, (64, 1, 32)) << 23)
    rows = bits.view(np.float32)
    cache = empty_cache(blocks=4, kv_heads=1, head_dim=64)
    kernels.store(rows, rows, cache, np.arange(64, dtype=np.int32))
    with np.errstate(over="ignore", invalid="ignore"):
        expected = rows[:, 0].astype(np.float16)
    assert np.array_equal(cache.values.reshape(64, 64), expected, equal_nan=True)
    keys = cache.keys.transpose(0, 3, 1, 2).reshape(64, 64)
    assert np.array_equal(keys, expected, equal_nan=True)


def empty_cache(blocks: int, kv_heads: int, head_dim: int) -> LayerCache:
    return LayerCache(
        np.zeros((blocks, kv_heads, head_dim, BLOCK), np.float16),
        np.zeros((blocks, kv_heads, BLOCK, head_dim), np.float16),
    )


@pytest.mark.parametrize(("window", "softcap"), [(0, 0.0), (11, 0.0), (0, 20.0)])
def test_attention_of_a_query_does_not_depend_on_its_chunk(table, window, softcap):
    """Prefill at once, in chunks of any size, or token by token: the same bits."""
    kernels = CpuKernels(table, 2)
    rng = np.random.default_rng(3)
    length, heads, kv_heads, dim = 70, 6, 2, 64
    cache = empty_cache(8, kv_heads, dim)
    table_row = rng.permutation(8).astype(np.int32)[None, :5]
    slots = (table_row[0, np.arange(length) // BLOCK] * BLOCK + np.arange(length) % BLOCK).astype(
        np.int32
    )
    keys, values = (rng.standard_normal((length, kv_heads, dim), np.float32) for _ in range(2))
    kernels.store(keys, values, cache, slots)
    queries = rng.standard_normal((length, heads, dim), np.float32)

    def attend(first: int, last: int) -> np.ndarray:
        out = np.empty((last - first, heads, dim), np.float32)
        batch = SpanBatch(
            np.array([0, last - first], np.int32), np.array([first], np.int32), table_row
        )
        kernels.attention(queries[first:last], cache, batch, 0.125, window, softcap, out)
        return out

    whole = attend(0, length)
    for size in (1, 7, 32):
        pieces = [attend(first, min(first + size, length)) for first in range(0, length, size)]
        assert np.array_equal(whole, np.concatenate(pieces)), size


@pytest.mark.parametrize("group", [1, 3, 7, 8, 9])
@pytest.mark.parametrize("window", [0, 600])
def test_a_long_past_shared_among_threads_gives_the_same_bits(table, group, window):
    """Pasts of one piece and of several, one at a border; whole, and piece by piece on threads."""
    rng = np.random.default_rng(group)
    kv_heads, dim, lengths = 2, 32, (1300, 512, 513, 1, 90)
    wide = -(-max(lengths) // BLOCK)
    cache = LayerCache(
        rng.standard_normal((wide * len(lengths), kv_heads, dim, BLOCK)).astype(np.float16),
        rng.standard_normal((wide * len(lengths), kv_heads, BLOCK, dim)).astype(np.float16),
    )
    blocks = rng.permutation(wide * len(lengths)).astype(np.int32).reshape(len(lengths), wide)
    shape = (len(lengths), kv_heads * group, dim)
    queries = rng.standard_normal(shape, np.float32)
    starts = np.array(lengths, np.int32) - 1

    def attend(threads: int, spans: slice) -> np.ndarray:
        some = queries[spans]
        out = np.full_like(some, np.nan)
        borders = np.arange(len(some) + 1, dtype=np.int32)
        batch = SpanBatch(borders, starts[spans], blocks[spans])
        CpuKernels(table, threads).attention(some, cache, batch, 0.2, window, 0.0, out)
        return out

    alone = attend(1, slice(None))
    assert np.array_equal(alone, attend(2, slice(None)))
    for span in range(len(lengths)):
        assert np.array_equal(alone[span : span + 1], attend(2, slice(span, span + 1)))


def test_non_finite_activations_are_never_hidden(table):
    kernels = CpuKernels(table, 1)
    packed = kernels.pack(random_weight("Q4_1", 16, 64))
    for bad in (np.nan, np.inf, -np.inf):
        x = np.ones((2, 64), np.float32)
        x[1, 40] = bad
        out = product(kernels, x, packed)
        assert np.isfinite(out[0]).all()
        assert not np.isfinite(out[1]).any()


def test_scales_beyond_float16_survive_packing(table):
    """Q4_K multiplies a float16 scale with up to 63: more than float16 holds."""
    block = np.zeros(144, np.uint8)
    block[0:2] = np.array([60000.0], np.float16).view(np.uint8)
    block[4:8] = 63
    block[16:] = 0x11
    weight = RawTensor("w", "Q4_K", (1, 256), block)
    kernels = CpuKernels(table, 1)
    out = np.empty((1, 256), np.float32)
    kernels.embed(kernels.pack(weight), np.zeros(1, np.int32), 1.0, out)
    np.testing.assert_allclose(out, dequantize(weight), rtol=1e-3)


def test_no_rows_at_all(table):
    kernels = CpuKernels(table, 2)
    packed = kernels.pack(random_weight("Q8_0", 16, 64))
    assert product(kernels, np.empty((0, 64), np.float32), packed).shape == (0, 16)


def test_shapes_that_do_not_fit_are_refused(table):
    kernels = CpuKernels(table, 1)
    packed = kernels.pack(random_weight("Q8_0", 16, 64))
    x, out = np.zeros((2, 64), np.float32), np.zeros((2, 16), np.float32)
    with pytest.raises(ValueError, match="x: width"):
        kernels.linear(x[:, :32].copy(), packed, None, out)
    with pytest.raises(ValueError, match="out"):
        kernels.linear(x, packed, None, out[:, :8].copy())
    with pytest.raises(ValueError, match="bias"):
        kernels.linear(x, packed, np.zeros(3, np.float32), out)
    with pytest.raises(ValueError, match="tokens"):
        kernels.embed(packed, np.array([16], np.int32), 1.0, x[:1])
    with pytest.raises(TypeError):
        kernels.linear(x.astype(np.float64), packed, None, out)  # pyright: ignore[reportArgumentType]
    cache = empty_cache(2, 1, 64)
    rows = np.zeros((1, 1, 64), np.float32)
    with pytest.raises(ValueError, match="slots"):
        kernels.store(rows, rows, cache, np.array([2 * BLOCK], np.int32))
    for borders, starts, blocks in (
        ([0, 1], [0], [[2]]),  # a block outside the cache
        ([0, 1], [0], [[-1]]),
        ([0, 1], [BLOCK], [[0]]),  # too few blocks
        ([0, 2], [0], [[0]]),  # more rows than queries
    ):
        batch = SpanBatch(*(np.array(a, np.int32) for a in (borders, starts, blocks)))
        with pytest.raises(ValueError, match=r"blocks|borders"):
            kernels.attention(rows, cache, batch, 1.0, 0, 0.0, rows.copy())


def test_weights_that_are_no_matrix_are_refused(table):
    kernels = CpuKernels(table, 1)
    with pytest.raises(Unsupported, match="matrix"):
        kernels.pack(RawTensor("w", "F32", (4,), np.zeros(16, np.uint8)))
    with pytest.raises(ValueError, match="data"):
        kernels.pack(RawTensor("w", "F32", (4, 4), np.zeros(16, np.uint8)))
    with pytest.raises(ValueError, match="format"):
        kernels.pack(RawTensor("w", "IQ2_XXS", (4, 256), np.zeros(16, np.uint8)))
