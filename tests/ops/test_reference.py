"""The reference against the formulas themselves, written as loops over Python floats."""

import math

import numpy as np
import pytest

from vilfredo.base.errors import Unsupported
from vilfredo.base.tensor import RawTensor
from vilfredo.ops.reference import ReferenceKernels
from vilfredo.ops.table import LayerCache, SpanBatch

KERNELS = ReferenceKernels()
BLOCK = 4


def normal(*shape, seed=0):
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def matrix(values):
    return RawTensor("w", "F32", values.shape, values.reshape(-1).view(np.uint8))


def test_embedding_takes_rows_and_scales_them():
    table = normal(7, 6)
    packed = KERNELS.pack(matrix(table))
    out = np.empty((3, 6), np.float32)
    KERNELS.embed(packed, np.array([5, 0, 5], np.int32), 2.0, out)
    assert np.array_equal(out, table[[5, 0, 5]] * 2)
    assert (packed.rows, packed.columns, packed.nbytes) == (7, 6, 7 * 6 * 4)


def test_only_a_matrix_can_be_packed():
    with pytest.raises(Unsupported, match=r"w: .*\(6,\)"):
        KERNELS.pack(matrix(normal(6)))


def test_rms_norm_in_place():
    x, weight = normal(2, 8), normal(8, seed=1)
    wanted = np.empty((2, 8))
    for row, column in np.ndindex(2, 8):
        mean_square = sum(float(value) ** 2 for value in x[row]) / 8
        wanted[row, column] = x[row, column] / math.sqrt(mean_square + 1e-5) * weight[column]
    KERNELS.rms_norm(x, weight, 1e-5, x)
    np.testing.assert_allclose(x, wanted, rtol=1e-5)


@pytest.mark.parametrize("bias", [None, normal(5, seed=2)])
def test_linear(bias):
    x, weight = normal(3, 8), normal(5, 8, seed=1)
    out = np.empty((3, 5), np.float32)
    KERNELS.linear(x, KERNELS.pack(matrix(weight)), bias, out)
    for row in range(3):
        for column in range(5):
            products = (float(a) * float(b) for a, b in zip(x[row], weight[column], strict=True))
            wanted = math.fsum(products) + (0 if bias is None else float(bias[column]))
            assert out[row, column] == pytest.approx(wanted, abs=1e-5)


@pytest.mark.parametrize("interleaved", [False, True])
def test_rope_turns_each_pair_by_its_angle(interleaved):
    n, heads, dim = 3, 2, 6
    x, angles = normal(n, heads, dim), normal(n, dim // 2, seed=1)
    turned = x.copy()
    KERNELS.rope(turned, np.cos(angles), np.sin(angles), interleaved)
    for row, head, pair in np.ndindex(n, heads, dim // 2):
        first, second = (2 * pair, 2 * pair + 1) if interleaved else (pair, pair + dim // 2)
        before = complex(x[row, head, first], x[row, head, second])
        after = before * complex(math.cos(angles[row, pair]), math.sin(angles[row, pair]))
        assert turned[row, head, first] == pytest.approx(after.real, abs=1e-6)
        assert turned[row, head, second] == pytest.approx(after.imag, abs=1e-6)


def make_cache(blocks, kv_heads, dim):
    return LayerCache(
        np.zeros((blocks, kv_heads, dim, BLOCK), np.float16),
        np.zeros((blocks, kv_heads, BLOCK, dim), np.float16),
    )


def test_store_writes_only_the_slots_named():
    keys, values = normal(2, 3, 5), normal(2, 3, 5, seed=1)
    cache = make_cache(4, 3, 5)
    KERNELS.store(keys, values, cache, np.array([9, 3], np.int32))
    for row, (block, offset) in enumerate([(2, 1), (0, 3)]):
        assert np.array_equal(cache.keys[block, :, :, offset], keys[row].astype(np.float16))
        assert np.array_equal(cache.values[block, :, offset], values[row].astype(np.float16))
    assert np.count_nonzero(cache.keys) == np.count_nonzero(cache.values) == keys.size


def attend(queries, keys, values, position, scale, window, softcap):
    """One query over its own sequence. queries [heads, dim]; keys, values [past, kv_heads, dim]."""
    heads, dim = queries.shape
    group = heads // keys.shape[1]
    out = np.zeros((heads, dim))
    seen = range(max(0, position - window + 1) if window else 0, position + 1)
    for head in range(heads):
        scores = {j: float(queries[head] @ keys[j, head // group]) * scale for j in seen}
        if softcap:
            scores = {j: softcap * math.tanh(score / softcap) for j, score in scores.items()}
        total = sum(math.exp(score) for score in scores.values())
        for j, score in scores.items():
            out[head] += math.exp(score) / total * values[j, head // group]
    return out


@pytest.mark.parametrize("window", [0, 1, 3])
@pytest.mark.parametrize("softcap", [0.0, 0.5])
def test_attention_over_pages_equals_attention_over_sequences(window, softcap):
    """Three spans: a whole prompt, the middle of one, and one token of a long past."""
    heads, kv_heads, dim = 4, 2, 6
    spans = [(0, 5), (3, 4), (10, 1)]  # start, count
    tables = np.array([[7, 2, -1], [0, 5, -1], [3, 6, 1]], np.int32)
    cache = make_cache(8, kv_heads, dim)
    queries, wanted, borders = [], [], [0]
    for seed, ((start, count), table) in enumerate(zip(spans, tables, strict=True)):
        end = start + count
        keys = normal(end, kv_heads, dim, seed=seed).astype(np.float16).astype(np.float32)
        values = normal(end, kv_heads, dim, seed=seed + 9).astype(np.float16).astype(np.float32)
        slots = [table[j // BLOCK] * BLOCK + j % BLOCK for j in range(end)]
        KERNELS.store(keys, values, cache, np.array(slots, np.int32))
        rows = normal(count, heads, dim, seed=seed + 17)
        queries.append(rows)
        borders.append(borders[-1] + count)
        for row in range(count):
            wanted.append(attend(rows[row], keys, values, start + row, 0.4, window, softcap))
    batch = SpanBatch(np.array(borders, np.int32), np.array([0, 3, 10], np.int32), tables)
    joined = np.concatenate(queries)
    out = np.empty_like(joined)
    KERNELS.attention(joined, cache, batch, 0.4, window, softcap, out)
    np.testing.assert_allclose(out, wanted, atol=1e-5)


def test_gates():
    x, up = np.array([[-1000, -1.5, 0, 0.7, 1000]], np.float32), normal(1, 5)
    for activation, formula in (
        ("silu", lambda v: v / (1 + math.exp(-v)) if v > -700 else 0.0),
        ("gelu_tanh", lambda v: v / 2 * (1 + math.tanh(0.7978845608 * (v + 0.044715 * v**3)))),
    ):
        gate = x.copy()
        KERNELS.gate(activation, gate, up, gate)
        wanted = [formula(float(v)) * float(u) for v, u in zip(x[0], up[0], strict=True)]
        np.testing.assert_allclose(gate[0], wanted, rtol=1e-5, atol=1e-6)


def test_add():
    x, y = normal(2, 3), normal(2, 3, seed=1)
    wanted = x + y
    KERNELS.add(x, y)
    assert np.array_equal(x, wanted)


def top(logits, k=3):
    ids, values = np.zeros((len(logits), k), np.int32), np.zeros((len(logits), k), np.float32)
    logsumexp = np.zeros(len(logits), np.float32)
    KERNELS.top(np.array(logits, np.float32), ids, values, logsumexp)
    return ids, values, logsumexp


def test_top_falls_and_gives_the_lower_id_first_among_equals():
    ids, values, logsumexp = top([[1, 5, 5, 2, 5], [3, 1, 2, -math.inf, 0]])
    assert ids.tolist() == [[1, 2, 4], [0, 2, 1]]
    assert values.tolist() == [[5, 5, 5], [3, 2, 1]]
    wanted = [math.log(sum(map(math.exp, row))) for row in ([1, 5, 5, 2, 5], [3, 1, 2, 0])]
    np.testing.assert_allclose(logsumexp, wanted, rtol=1e-6)


def test_top_among_many_equals_is_the_order_of_a_whole_sort():
    logits = np.random.default_rng(0).integers(0, 9, (5, 400)).astype(np.float32)
    logits[4, 3:] = -np.inf  # fewer finite values than are asked for
    ids, values, _ = top(logits, k=60)
    for row in range(5):
        wanted = sorted(range(400), key=lambda token: (-logits[row, token], token))[:60]
        assert ids[row].tolist() == wanted
        assert np.array_equal(values[row], logits[row, wanted])


def test_top_refuses_rows_that_are_no_distribution():
    bad = [[1, math.nan, 2], [1, math.inf, 2], [-math.inf] * 3, [1, 2, 3]]
    ids, _, _ = top(bad)
    assert ids[:, 0].tolist() == [-1, -1, -1, 2]
