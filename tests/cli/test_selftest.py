import pytest

from vilfredo.ops.choose import tables
from vilfredo.ops.reference import ReferenceKernels
from vilfredo.ops.selftest import self_test


class Broken(ReferenceKernels):
    name = "broken"

    def add(self, x, y):
        raise RuntimeError("no [/sense] in it")


@pytest.fixture
def short(monkeypatch):
    monkeypatch.setattr(
        "vilfredo.ops.selftest.self_test", lambda kernels: self_test(kernels, short=True)
    )


def test_every_table_that_runs_here_is_shown(vilfredo, short):
    ended = vilfredo("selftest")
    assert ended.code == 0
    assert "failed" not in ended.out
    for name in tables()[:-1]:
        assert f"{name}: " in ended.out


def test_one_table(vilfredo, short):
    ended = vilfredo("selftest", "--table", "reference", "--threads", "1")
    assert ended.code == 0
    assert ended.out.startswith("reference: ")
    assert ended.out.count("checks") == 1


def test_a_broken_table_is_named_and_fails(vilfredo, short, monkeypatch):
    monkeypatch.setattr("vilfredo.ops.choose.choose", lambda name, threads: Broken())
    ended = vilfredo("selftest", "--table", "reference")
    assert ended.code == 1
    (line,) = (line for line in ended.out.splitlines() if "failed" in line)
    assert line.split()[0] == "add"
    assert "1 failed" in line
