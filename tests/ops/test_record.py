"""Recorded calls: equal to the ops one by one, fused as far as that allows, checked at each run."""

import gc
import time

import numpy as np
import pytest

from tests.ops.test_cpu import random_weight
from vilfredo.ops.cpu import CpuKernels, cpu_tables
from vilfredo.ops.reference import ReferenceKernels

pytestmark = pytest.mark.parametrize("table", cpu_tables())

WIDTH, HEADS, HEAD_DIM, HIDDEN = 96, 6, 16, 160


class Half:
    """Half of a layer, over memory of its own: norms, products of one input, rotations, a gate."""

    def __init__(self, kernels: CpuKernels, rows: int) -> None:
        random = np.random.default_rng(rows)

        def floats(*shape: int) -> np.ndarray:
            return random.standard_normal(shape).astype(np.float32)

        self.kernels, self.rows = kernels, rows
        self.x = floats(rows, WIDTH)
        self.norm, self.head_norm, self.bias = floats(WIDTH), floats(HEAD_DIM), floats(WIDTH)
        self.cos, self.sin = floats(rows, HEAD_DIM // 2), floats(rows, HEAD_DIM // 2)
        pack = kernels.pack
        self.query = pack(random_weight("Q4_1", WIDTH, WIDTH, 1))
        self.key = pack(random_weight("Q8_0", WIDTH, WIDTH, 2))
        self.gate = pack(random_weight("Q5_0", HIDDEN, WIDTH, 3))
        self.up = pack(random_weight("F16", HIDDEN, WIDTH, 4))
        self.down = pack(random_weight("Q4_0", WIDTH, HIDDEN, 5))
        self.normed, self.queries, self.keys = (floats(rows, WIDTH) for _ in range(3))
        self.hidden, self.raised = floats(rows, HIDDEN), floats(rows, HIDDEN)
        self.change = floats(rows, WIDTH)

    def calls(self) -> None:
        kernels, heads = self.kernels, self.queries.reshape(self.rows * HEADS, HEAD_DIM)
        kernels.rms_norm(self.x, self.norm, 1e-5, self.normed)
        kernels.linear(self.normed, self.query, self.bias, self.queries)
        kernels.linear(self.normed, self.key, None, self.keys)
        kernels.rms_norm(heads, self.head_norm, 1e-5, heads)
        kernels.rope(self.queries.reshape(self.rows, HEADS, HEAD_DIM), self.cos, self.sin, False)
        kernels.add(self.queries, self.keys)
        kernels.linear(self.queries, self.gate, None, self.hidden)
        kernels.linear(self.queries, self.up, None, self.raised)
        kernels.gate("silu", self.hidden, self.raised, self.hidden)
        kernels.linear(self.hidden, self.down, None, self.change)
        kernels.softcap(self.change, 30.0)
        kernels.add(self.x, self.change)


@pytest.mark.parametrize("rows", [1, 2, 7, 33, 150])
@pytest.mark.parametrize("threads", [1, 2])
def test_a_recording_computes_what_its_ops_do_one_by_one(table, rows, threads):
    kernels = CpuKernels(table, threads)
    eager, recorded = Half(kernels, rows), Half(kernels, rows)
    program = kernels.record(recorded.calls)
    assert np.array_equal(eager.x, recorded.x), "recording must not compute"
    for _ in range(3):  # each run goes on from where the last one left x
        eager.calls()
        program.run()
        assert np.array_equal(eager.x, recorded.x)


def test_neighbours_are_brought_together(table):
    kernels = CpuKernels(table, 1)
    names = kernels.record(Half(kernels, 5).calls).names
    assert names == (
        "rms_norm + prepare",
        "linear 96x96 + linear 96x96",
        "rms_norm + rope + add + prepare",
        "linear 96x160",
        "linear 96x160",  # floats do not share a round with integers
        "silu + prepare",
        "linear 160x96",
        "softcap + add",
    )


def test_work_counts_what_products_read_and_multiply(table):
    kernels = CpuKernels(table, 1)
    half = Half(kernels, 5)
    work = kernels.record(half.calls).work
    assert work[1] == (half.query.nbytes + half.key.nbytes, 5 * 2 * WIDTH * WIDTH)
    assert work[0] == work[2] == (0, 0)


def test_rows_that_another_row_would_read_are_not_chained(table):
    """x and a view of x that begins one row later: row 0 of one is row 1 of the other."""
    kernels = CpuKernels(table, 2)
    memory = np.ones((101, 16), np.float32)
    program = kernels.record(
        lambda: (kernels.add(memory[:100], memory[:100]), kernels.add(memory[1:], memory[1:]))
    )
    assert program.names == ("add", "add")
    program.run()
    assert np.array_equal(memory[:, 0], [2, *[4] * 99, 2])


def test_what_a_recording_reads_outlives_its_owner(table):
    kernels = CpuKernels(table, 2)
    half = Half(kernels, 40)
    expected, x = Half(kernels, 40), half.x
    program = kernels.record(half.calls)
    del half
    gc.collect()
    expected.calls()
    program.run()
    assert np.array_equal(x, expected.x)


def test_contents_are_checked_at_every_run(table):
    kernels = CpuKernels(table, 1)
    x, out = np.arange(8, dtype=np.float32).reshape(4, 2), np.empty((2, 2), np.float32)
    rows = np.array([99, 99], np.int32)
    program = kernels.record(lambda: kernels.take(x, rows, out))
    with pytest.raises(ValueError, match="rows"):
        program.run()
    rows[:] = 3, 0
    program.run()
    assert out.tolist() == [[6, 7], [0, 1]]
    rows[1] = -1
    with pytest.raises(ValueError, match="rows"):
        program.run()


def test_a_recording_that_fails_leaves_nothing_behind(table):
    kernels = CpuKernels(table, 1)
    x = np.ones((1, 4), np.float32)
    with pytest.raises(ValueError, match="x, y"):
        kernels.record(lambda: kernels.add(x, np.ones((1, 5), np.float32)))
    kernels.add(x, x)
    assert x.tolist() == [[2, 2, 2, 2]], "ops compute again"


def test_recordings_do_not_nest(table):
    kernels = CpuKernels(table, 1)
    with pytest.raises(ValueError, match="begun"):
        kernels.record(lambda: kernels.record(lambda: None))


def test_times_tell_when_each_call_began_and_ended(table):
    kernels = CpuKernels(table, 2)
    half = Half(kernels, 9)
    program = kernels.record(half.calls)
    times = np.zeros((len(program.names), 3), np.int64)
    before = time.monotonic_ns()
    program.run(times)
    flat = times[:, :2].reshape(-1)
    assert before <= flat[0]
    assert np.all(np.diff(flat) >= 0)
    assert np.all((times[:, 2] >= 0) & (times[:, 2] <= times[:, 1] - times[:, 0]))
    with pytest.raises(ValueError, match="times"):
        program.run(times[:-1])


@pytest.mark.parametrize("kernels", [ReferenceKernels()], ids=["reference"])
def test_the_reference_repeats(table, kernels):
    x = np.ones((1, 2), np.float32)
    program = kernels.record(lambda: kernels.add(x, x))
    times = np.zeros((1, 3), np.int64)
    program.run()
    program.run(times)
    assert x.tolist() == [[4, 4]]
    assert times[0, 0] > 0
