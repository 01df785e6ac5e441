import sys

import pytest

from vilfredo.base.errors import InvalidInput
from vilfredo.ops import choose as module
from vilfredo.ops.choose import choose, tables


def test_the_reference_is_always_there_and_last():
    assert tables()[-1] == "reference"
    assert choose("reference", 1).name == "reference"


def test_auto_is_the_best_table(monkeypatch):
    assert choose("auto", 1).name == tables()[0]
    monkeypatch.setattr(module, "tables", lambda: ("reference",))
    assert choose("auto", 1).name == "reference"


def test_invariant_is_the_fastest_whose_rows_do_not_depend_on_the_batch():
    invariant = choose("invariant", 1)
    assert invariant.batch_invariant or invariant.name == "reference"
    faster = tables()[: tables().index(invariant.name)]
    assert not any(choose(name, 1).batch_invariant for name in faster)


@pytest.mark.parametrize("name", tables())
def test_every_listed_table_can_be_had(name):
    assert choose(name, 2).name == name


def test_an_unknown_name_is_refused_with_the_names_that_exist():
    with pytest.raises(
        InvalidInput, match=r"table: 'cpu-mmx' is none of auto, .*reference"
    ) as raised:
        choose("cpu-mmx", 1)
    assert raised.value.field == "table"


def test_without_the_native_core_only_the_reference_is_left(monkeypatch):
    monkeypatch.setitem(sys.modules, "vilfredo.ops.cpu", None)
    assert tables() == ("reference",)
