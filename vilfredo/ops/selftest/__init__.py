"""Compares every op of a table with the reference: in short at boot, in full on demand.

What it never does is to trust: a table that fails serves nothing.
"""

import math
from collections.abc import Callable, Iterator

import numpy as np

from vilfredo.ops.selftest.matrices import embed_checks, linear_checks
from vilfredo.ops.selftest.paging import attention_checks, store_checks
from vilfredo.ops.selftest.report import Check, Report, require
from vilfredo.ops.selftest.rows import (
    add_checks,
    gate_checks,
    norm_checks,
    rope_checks,
    top_checks,
)
from vilfredo.ops.table import Kernels

__all__ = ["Check", "Report", "require", "self_test"]

OPS: dict[str, Callable[[Kernels, np.random.Generator, bool], Iterator[Check]]] = {
    "embed": embed_checks,
    "rms_norm": norm_checks,
    "linear": linear_checks,
    "rope": rope_checks,
    "store": store_checks,
    "attention": attention_checks,
    "gate": gate_checks,
    "add": add_checks,
    "top": top_checks,
}


def self_test(kernels: Kernels, short: bool = False, seed: int = 0) -> Report:
    """Inputs follow from the seed alone. An op that raises fails with what it raised."""
    found: list[Check] = []
    for op, checks in OPS.items():
        try:
            with np.errstate(all="ignore"):
                found.extend(checks(kernels, np.random.default_rng(seed), short))
        except Exception as error:
            found.append(Check(op, f"raised {type(error).__name__}: {error}", math.inf, 0.0))
    return Report(kernels.name, tuple(found))
