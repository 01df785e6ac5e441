"""The self-test passes what is right, and catches each op when it is wrong in a likely way."""

import numpy as np
import pytest

from vilfredo.base.errors import SelfTestFailed
from vilfredo.ops.choose import choose, tables
from vilfredo.ops.reference import ReferenceKernels
from vilfredo.ops.selftest import OPS, require, self_test
from vilfredo.ops.selftest.report import compare


class WithoutScale(ReferenceKernels):
    def embed(self, table, tokens, scale, out):
        super().embed(table, tokens, 1.0, out)


class WrongEpsilon(ReferenceKernels):
    def rms_norm(self, x, weight, eps, out):
        super().rms_norm(x, weight, 10 * eps, out)


class LastGroupLost(ReferenceKernels):
    def linear(self, x, weight, bias, out):
        x = x.copy()
        x[:, -32:] = 0
        super().linear(x, weight, bias, out)


class BiasLost(ReferenceKernels):
    def linear(self, x, weight, bias, out):
        super().linear(x, weight, None, out)


class SumsThatSaturate(ReferenceKernels):
    def linear(self, x, weight, bias, out):
        super().linear(x, weight, bias, out)
        np.clip(out, -15, 15, out=out)


class OnePairing(ReferenceKernels):
    def rope(self, x, cos, sin, interleaved):
        super().rope(x, cos, sin, False)


class NeighborOverwritten(ReferenceKernels):
    def store(self, keys, values, cache, slots):
        cache.keys[-1, 0, 0, 0] = 3
        super().store(keys, values, cache, slots)


class NoWindow(ReferenceKernels):
    def attention(self, queries, cache, batch, scale, window, softcap, out):
        super().attention(queries, cache, batch, scale, 0, softcap, out)


class NoSoftcap(ReferenceKernels):
    def attention(self, queries, cache, batch, scale, window, softcap, out):
        super().attention(queries, cache, batch, scale, window, 0.0, out)


class LastRowLost(ReferenceKernels):
    def attention(self, queries, cache, batch, scale, window, softcap, out):
        super().attention(queries, cache, batch, scale, window, softcap, out)
        out[-1:] = np.nan


class OneActivation(ReferenceKernels):
    def gate(self, activation, gate, up, out):
        super().gate("silu", gate, up, out)


class Subtracts(ReferenceKernels):
    def add(self, x, y):
        x -= y


class HigherIdFirst(ReferenceKernels):
    def top(self, logits, out_ids, out_values, out_logsumexp):
        super().top(logits[:, ::-1], out_ids, out_values, out_logsumexp)
        sound = out_ids[:, 0] >= 0
        out_ids[sound] = logits.shape[1] - 1 - out_ids[sound]


class TakesNaN(ReferenceKernels):
    def top(self, logits, out_ids, out_values, out_logsumexp):
        super().top(np.nan_to_num(logits), out_ids, out_values, out_logsumexp)


class Raises(ReferenceKernels):
    def add(self, x, y):
        raise ValueError("x, y: sizes")


BROKEN = {
    WithoutScale: "embed",
    WrongEpsilon: "rms_norm",
    LastGroupLost: "linear",
    BiasLost: "linear",
    SumsThatSaturate: "linear",
    OnePairing: "rope",
    NeighborOverwritten: "store",
    NoWindow: "attention",
    NoSoftcap: "attention",
    LastRowLost: "attention",
    OneActivation: "gate",
    Subtracts: "add",
    HigherIdFirst: "top",
    TakesNaN: "top",
    Raises: "add",
}


@pytest.mark.parametrize("table", BROKEN, ids=lambda table: table.__name__)
def test_the_short_form_catches_a_broken_op_and_no_other(table):
    report = self_test(table(), short=True)
    assert {check.op for check in report.failures} == {BROKEN[table]}
    with pytest.raises(SelfTestFailed, match=BROKEN[table]):
        require(report)


def test_every_op_is_broken_above():
    assert set(BROKEN.values()) == set(OPS)


@pytest.mark.parametrize("name", tables())
@pytest.mark.parametrize("seed", [0, 1])
def test_tables_of_this_machine_pass_in_full(name, seed):
    report = self_test(choose(name, 2), seed=seed)
    assert report.failures == ()
    assert {check.op for check in report.checks} == set(OPS)
    require(report)


def test_the_reference_agrees_with_itself_exactly():
    assert all(check.worst == 0 for check in self_test(ReferenceKernels()).checks)


def test_a_comparison_reports_the_place_that_is_worst_for_its_tolerance():
    actual, expected = np.array([1.0, 2.5, np.inf]), np.array([1.5, 2.0, np.inf])
    check = compare("add", "case", actual, expected, np.array([1.0, 0.1, 0.0]))
    assert (check.worst, check.allowed, check.passed) == (0.5, 0.1, False)
    assert not compare("add", "case", np.array([np.nan, 9.0]), np.zeros(2), 1e9).passed
    assert compare("add", "nothing", np.zeros(0), np.zeros(0)).passed
