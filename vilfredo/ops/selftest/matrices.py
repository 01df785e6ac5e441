"""Checks of the ops that read packed weights: embed and linear, in every format."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from vilfredo.base.tensor import RawTensor
from vilfredo.ops.reference import ReferenceKernels
from vilfredo.ops.selftest.report import Check, compare
from vilfredo.ops.selftest.samples import DENSE, SCALES, random_weight
from vilfredo.ops.table import F32, Kernels

FORMATS = (*SCALES, *DENSE)

# Packing may round a group's scales and minima to float16 (2^-11 each); twice that is allowed.
PACKING = 2.0**-10
ACCUMULATION = 1e-5  # of the sum of magnitudes: float32 sums in any order
STEPS = 127 * 256  # from zero to the largest activation of a group
SIGMAS = 6  # of the error of rounding activations; chance exceeds it once in 5e8 results


def embed_checks(kernels: Kernels, random: np.random.Generator, short: bool) -> Iterator[Check]:
    reference = ReferenceKernels()
    for format in FORMATS:
        raw = random_weight(random, format, rows=37, blocks=3)
        ours, theirs = kernels.pack(raw), reference.pack(raw)
        for tokens in ([36, 0, 16, 16],) if short else ([36, 0, 16, 16], [], [35]):
            ids = np.array(tokens, np.int32)
            actual, expected = _outputs(len(tokens), raw.shape[1])
            kernels.embed(ours, ids, 8.5, actual)
            reference.embed(theirs, ids, 8.5, expected)
            largest = np.abs(expected).max(axis=1, keepdims=True)
            allowed = largest * (1e-6 if format in DENSE else 2 * PACKING)
            yield compare("embed", f"{format}, {len(tokens)} tokens", actual, expected, allowed)


def linear_checks(kernels: Kernels, random: np.random.Generator, short: bool) -> Iterator[Check]:
    """Odd numbers of rows, groups and tokens; outliers; codes and sums as large as they get."""
    shapes = ((37, 3),) if short else ((37, 3), (1, 1), (16, 2), (70, 5))
    counts = (3, 9, 20) if short else (0, 1, 2, 3, 5, 9, 40)  # each a kernel
    for format in FORMATS:
        for rows, blocks in shapes:
            weight = _Weight(kernels, random_weight(random, format, rows, blocks))
            bias = random.standard_normal(rows, np.float32)
            for n in counts:
                x = random.standard_normal((n, weight.columns), np.float32)
                yield weight.check(f"{n} tokens", x, bias if n % 2 else None)
        if format not in DENSE:
            for byte in (0xFF,) if short else (0x00, 0x7F, 0x80, 0xFF):
                weight = _Weight(kernels, random_weight(random, format, 17, 2, byte))
                x = np.ones((4, weight.columns), np.float32)
                x[2:, 1:] = 1 - 128 / STEPS  # where two bytes hold an activation: 127 and -128
                x[1::2] *= -1
                yield weight.check(f"saturated with {byte:#04x}", x)
        if not short:
            yield from _extremes(_Weight(kernels, random_weight(random, format, 17, 2)), random)


def _extremes(weight: "_Weight", random: np.random.Generator) -> Iterator[Check]:
    x = random.standard_normal((2, weight.columns), np.float32)
    x[:, 5] = 3000  # the other activations of its group are rounded away
    x[1, 32:] = 0
    yield weight.check("one outlier", x)
    x = random.standard_normal((2, weight.columns), np.float32)
    yield weight.check("tiny and large rows", x * np.array([[1e-5], [1e5]], np.float32))


class _Weight:
    """One weight, packed by the table and by the reference."""

    def __init__(self, kernels: Kernels, raw: RawTensor) -> None:
        self.columns = raw.shape[1]
        self._raw = raw
        self._kernels = kernels
        self._reference = ReferenceKernels()
        self._ours, self._theirs = kernels.pack(raw), self._reference.pack(raw)

    def check(self, case: str, x: F32, bias: F32 | None = None) -> Check:
        actual, expected = _outputs(len(x), self._raw.shape[0])
        self._kernels.linear(x, self._ours, bias, actual)
        self._reference.linear(x, self._theirs, bias, expected)
        dense = self._theirs.dense
        allowed = _allowed(x, dense, exact=self._raw.format in DENSE)
        # Where all weights of a group are alike, so are their errors: nothing averages out.
        allowed = allowed + 2 * self._kernels.factor_error * (np.abs(x) @ np.abs(dense).T)
        shape = "x".join(map(str, self._raw.shape))
        return compare("linear", f"{self._raw.format} {shape}, {case}", actual, expected, allowed)


def _allowed(x: F32, weight: F32, exact: bool) -> NDArray[np.floating]:  # [n, rows]
    """Integer formats may be multiplied with activations rounded to STEPS a group of 32.

    Such an error spreads evenly over a step s, so its variance is s²/12 times the squared weight.
    Scales and minima that were rounded when packed may nearly cancel in one weight, so their error
    is a part of the largest weight of the group.
    """
    if exact:
        return ACCUMULATION * (np.abs(x) @ np.abs(weight).T) + 1e-6
    groups = (-1, x.shape[1] // 32, 32)
    steps = np.abs(x).reshape(groups).max(axis=2) / STEPS  # [n, groups]
    squares = np.square(weight).reshape(groups).sum(axis=2)  # [rows, groups]
    sigma = np.sqrt(np.square(steps) @ squares.T / 12)
    sums = np.abs(x).reshape(groups).sum(axis=2)  # [n, groups]
    largest = np.abs(weight).reshape(groups).max(axis=2)  # [rows, groups]
    return SIGMAS * sigma + 2 * PACKING * (sums @ largest.T) + 1e-6


def _outputs(n: int, width: int) -> tuple[F32, F32]:
    """NaN, so that an element that was never written is seen."""
    return np.full((n, width), np.nan, np.float32), np.full((n, width), np.nan, np.float32)
