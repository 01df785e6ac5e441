"""What a self-test found: one line a case, the worst error beside what is allowed."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from vilfredo.base.errors import SelfTestFailed


@dataclass(frozen=True, slots=True)
class Check:
    """The place where an error comes nearest to what is allowed there, or is furthest over it."""

    op: str
    case: str
    worst: float
    allowed: float

    @property
    def passed(self) -> bool:
        return self.worst <= self.allowed  # false for NaN


@dataclass(frozen=True, slots=True)
class Report:
    table: str
    checks: tuple[Check, ...]

    @property
    def failures(self) -> tuple[Check, ...]:
        return tuple(check for check in self.checks if not check.passed)


def compare(
    op: str, case: str, actual: NDArray, expected: NDArray, allowed: ArrayLike = 0.0
) -> Check:
    """`allowed` is of the arrays' shape, or spreads to it. Equal infinities are no error."""
    with np.errstate(invalid="ignore"):
        error = np.abs(actual.astype(np.float64) - expected.astype(np.float64))
    error[actual == expected] = 0
    if error.size == 0:
        return Check(op, case, 0.0, 0.0)
    limits = np.broadcast_to(np.asarray(allowed, np.float64), error.shape).reshape(-1)
    place = int(np.argmax(error.reshape(-1) / (limits + 1e-30)))  # NaN counts as the largest
    return Check(op, case, float(error.reshape(-1)[place]), float(limits[place]))


def require(report: Report) -> None:
    """Raises SelfTestFailed, which names the first op that is wrong."""
    if report.failures:
        worst = report.failures[0]
        raise SelfTestFailed(
            f"table {report.table}: {worst.op} parts from the reference ({worst.case}: off by "
            f"{worst.worst:.3g}, allowed {worst.allowed:.3g}); it would give wrong tokens. "
            "Choose another table and report this fault."
        )
