"""Checks of the ops over plain rows: norm, rope, gate, add and top."""

from collections.abc import Iterator
from typing import get_args

import numpy as np

from vilfredo.ops.reference import ReferenceKernels
from vilfredo.ops.selftest.report import Check, compare
from vilfredo.ops.table import Activation, Kernels

Random = np.random.Generator
FLOAT = 1e-5  # relative: a few float32 roundings, and approximations of exp and tanh


def norm_checks(kernels: Kernels, random: Random, short: bool) -> Iterator[Check]:
    reference = ReferenceKernels()
    for width in (100,) if short else (1, 15, 64, 100, 577):
        weight = random.standard_normal(width, np.float32)
        for n, size in ((3, 1.0),) if short else ((3, 1.0), (0, 1.0), (1, 1e-4), (2, 1e15)):
            x = random.standard_normal((n, width), np.float32) * np.float32(size)
            expected, actual = np.empty_like(x), np.full_like(x, np.nan)
            reference.rms_norm(x, weight, 1e-5, expected)
            kernels.rms_norm(x, weight, 1e-5, actual)
            allowed = FLOAT * np.abs(expected) + 1e-7
            case = f"{n}x{width}, magnitude {size:g}"
            yield compare("rms_norm", case, actual, expected, allowed)
            kernels.rms_norm(x, weight, 1e-5, x)
            yield compare("rms_norm", f"{case}, in place", x, expected, allowed)


def rope_checks(kernels: Kernels, random: Random, short: bool) -> Iterator[Check]:
    reference = ReferenceKernels()
    shapes = ((3, 3, 64),) if short else ((3, 3, 64), (0, 2, 64), (1, 1, 32), (5, 9, 6), (2, 1, 50))
    for n, heads, head_dim in shapes:
        angles = random.uniform(0, 1000, (n, head_dim // 2)).astype(np.float32)
        for interleaved in (False, True):
            actual = random.standard_normal((n, heads, head_dim), np.float32)
            expected = actual.copy()
            reference.rope(expected, np.cos(angles), np.sin(angles), interleaved)
            kernels.rope(actual, np.cos(angles), np.sin(angles), interleaved)
            case = f"{n}x{heads}x{head_dim}{', interleaved' if interleaved else ''}"
            yield compare("rope", case, actual, expected, 1e-5)  # values are around 1


def gate_checks(kernels: Kernels, random: Random, short: bool) -> Iterator[Check]:
    reference = ReferenceKernels()
    for activation in get_args(Activation):
        for shape in ((3, 37),) if short else ((3, 37), (0, 5), (1, 1), (2, 500)):
            gate = random.standard_normal(shape, np.float32) * 4
            up = random.standard_normal(shape, np.float32)
            extremes = np.array([0, -0.0, 90, -90, 1e4, -1e4, 1e-20], np.float32)[: gate.size]
            gate.reshape(-1)[: len(extremes)] = extremes
            expected, actual = np.empty_like(gate), np.full_like(gate, np.nan)
            reference.gate(activation, gate, up, expected)
            kernels.gate(activation, gate, up, actual)
            allowed = FLOAT * np.abs(up) * np.maximum(np.abs(gate), 1)
            yield compare("gate", f"{activation} {shape}", actual, expected, allowed)
            kernels.gate(activation, gate, up, gate)
            yield compare("gate", f"{activation} {shape}, in place", gate, expected, allowed)


def add_checks(kernels: Kernels, random: Random, short: bool) -> Iterator[Check]:
    for shape in ((3, 37),) if short else ((3, 37), (0, 4), (1, 1), (5, 640)):
        x, y = (random.standard_normal(shape, np.float32) for _ in range(2))
        expected = x + y
        kernels.add(x, y)
        yield compare("add", f"{shape}", x, expected)


def top_checks(kernels: Kernels, random: Random, short: bool) -> Iterator[Check]:
    """Ties, and rows that have no usable distribution beside rows that do."""
    reference = ReferenceKernels()
    for vocabulary, k in ((130, 5),) if short else ((130, 5), (1, 1), (7, 7), (999, 64), (999, 1)):
        logits = random.standard_normal((9, vocabulary), np.float32) * 8
        logits[1] = np.round(logits[1])
        logits[2] = 0.5
        logits[3, vocabulary // 2] = np.nan
        logits[4, -1] = np.inf
        logits[5] = -np.inf
        logits[6, 1:] = -np.inf
        logits[7] *= 1e6
        results = []
        for table in (kernels, reference):
            ids = np.full((9, k), -7, np.int32)
            values = np.full((9, k), np.nan, np.float32)
            logsumexp = np.full(9, np.nan, np.float32)
            table.top(logits, ids, values, logsumexp)
            results.append((ids, values, logsumexp))
        (ids, values, logsumexp), (true_ids, true_values, true_logsumexp) = results
        case, sound = f"{vocabulary} logits, top {k}", true_ids[:, 0] >= 0
        yield compare("top", f"{case}: unusable rows", ids[:, 0] < 0, ~sound)
        yield compare("top", f"{case}: ids", ids[sound], true_ids[sound])
        yield compare("top", f"{case}: values", values[sound], true_values[sound])
        allowed = FLOAT * np.maximum(np.abs(true_logsumexp[sound]), 1)
        actual, expected = logsumexp[sound], true_logsumexp[sound]
        yield compare("top", f"{case}: logsumexp", actual, expected, allowed)
        none = np.empty((0, vocabulary), np.float32)
        kernels.top(none, np.empty((0, k), np.int32), np.empty((0, k), np.float32), none[:, 0])
