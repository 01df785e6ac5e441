"""Where a table's results part from a reference's, layer by layer, for one prompt."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from vilfredo.base.errors import InvalidInput
from vilfredo.models.divergence import kl_divergence
from vilfredo.models.oracle import trace_transformers
from vilfredo.models.trace import Trace, trace
from vilfredo.ops.reference import ReferenceKernels
from vilfredo.ops.table import F32, Kernels, as_kernels
from vilfredo.weights.checkpoint import Checkpoint


@dataclass(frozen=True, slots=True)
class Difference:
    """Of one named result, as a part of the root mean square of the reference's row."""

    name: str
    largest: float
    mean: float


@dataclass(frozen=True, slots=True)
class Verification:
    table: str
    against: str  # "reference" or "transformers"
    differences: tuple[Difference, ...]  # in the order of computation
    divergence: float  # KL(reference, table) in nats, mean over the prompt's positions
    largest_divergence: float
    agreement: float  # share of positions with the same most likely token


def verify(checkpoint: Checkpoint, kernels: Kernels, tokens: Sequence[int]) -> Verification:
    """Against the NumPy reference, which holds the whole model in float32 for the while."""
    _check(tokens)
    wanted = trace(checkpoint, as_kernels(ReferenceKernels()), tokens)
    return compare(kernels.name, "reference", trace(checkpoint, kernels, tokens), wanted)


def verify_against_transformers(
    checkpoint: Checkpoint, kernels: Kernels, tokens: Sequence[int]
) -> Verification:
    """Raises Unsupported where transformers is not installed or does not know the model."""
    _check(tokens)
    wanted = trace_transformers(checkpoint, tokens)
    return compare(kernels.name, "transformers", trace(checkpoint, kernels, tokens), wanted)


def compare(table: str, against: str, got: Trace, wanted: Trace) -> Verification:
    """Over the results that both name; both name the logits."""
    differences = tuple(
        _difference(name, result, wanted[name]) for name, result in got.items() if name in wanted
    )
    ours, theirs = got["logits"], wanted["logits"]
    divergences = kl_divergence(theirs, ours)
    return Verification(
        table=table,
        against=against,
        differences=differences,
        divergence=float(divergences.mean()),
        largest_divergence=float(divergences.max()),
        agreement=float(np.mean(ours.argmax(axis=-1) == theirs.argmax(axis=-1))),
    )


def _check(tokens: Sequence[int]) -> None:
    if not tokens:
        raise InvalidInput("prompt", "has no tokens: there is nothing to compare")


def _difference(name: str, got: F32, wanted: F32) -> Difference:
    size = np.sqrt(np.mean(np.square(wanted), axis=-1, keepdims=True))
    parts = np.abs(got - wanted) / np.maximum(size, np.finfo(np.float32).tiny)
    return Difference(name, float(parts.max()), float(parts.mean()))
