"""How far a table's next-token distributions part from the reference's over a long text.

The reference computes in float32 throughout, its keys and values too, on dequantized weights: what
is left is all that a table rounds.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from vilfredo.base.errors import InvalidInput
from vilfredo.models.decoder import Decoder
from vilfredo.models.families import read_spec
from vilfredo.models.inputs import DecoderInputs
from vilfredo.models.weights import load
from vilfredo.ops.reference import ReferenceKernels
from vilfredo.ops.table import F32, Kernels, LayerCache, SpanBatch, as_kernels
from vilfredo.weights.checkpoint import Checkpoint

BLOCK_TOKENS = 16
CHUNK = 128  # tokens of a prompt read at once
FEW = 8  # then by a few at once, as a small batch decodes
LAST = 64  # tokens at the end that are read few by few and, the second half, one by one


@dataclass(frozen=True, slots=True)
class Divergence:
    table: str
    tokens: int
    mean: float  # KL(reference || table) in nats a token
    largest: float
    agreement: float  # share of tokens after which both hold the same token for the likeliest


def divergence(checkpoint: Checkpoint, kernels: Kernels, tokens: Sequence[int]) -> Divergence:
    """Reads the text in chunks, then by a few tokens, then one by one: kernels differ in how many
    rows they see. Raises InvalidInput for a text without tokens."""
    if not tokens:
        raise InvalidInput("text", "has no tokens: there is nothing to compare")
    ours = _Reader(checkpoint, kernels, tokens, np.float16)
    theirs = _Reader(checkpoint, as_kernels(ReferenceKernels()), tokens, np.float32)
    divergences: list[F32] = []
    same = 0
    for start, end in _cuts(len(tokens)):
        got, wanted = ours.read(start, end), theirs.read(start, end)
        same += int(np.count_nonzero(got.argmax(axis=-1) == wanted.argmax(axis=-1)))
        divergences.append(kl_divergence(wanted, got))
    each = np.concatenate(divergences)
    return Divergence(
        kernels.name, len(tokens), float(each.mean()), float(each.max()), same / len(tokens)
    )


def kl_divergence(wanted: F32, got: F32) -> F32:
    """KL(wanted || got) = Σ p (log p - log q) of each row (Kullback & Leibler 1951).

    Both are logits [n, vocabulary]; the result [n] is in nats.
    """
    ours, theirs = _log_softmax(got), _log_softmax(wanted)
    return np.sum(np.exp(theirs) * (theirs - ours), axis=-1)


def _log_softmax(logits: F32) -> F32:
    shifted = logits - logits.max(axis=-1, keepdims=True)
    return shifted - np.log(np.sum(np.exp(shifted), axis=-1, keepdims=True))


def _cuts(count: int) -> Iterator[tuple[int, int]]:
    few = max(0, count - LAST)
    one = max(0, count - LAST // 2)
    start = 0
    while start < count:
        size, border = (CHUNK, few) if start < few else (FEW, one) if start < one else (1, count)
        end = min(start + size, border)
        yield start, end
        start = end


class _Reader:
    """One table's pass over the text, a span at a time."""

    def __init__(
        self,
        checkpoint: Checkpoint,
        kernels: Kernels,
        tokens: Sequence[int],
        cached: Any,  # float16, or float32: keys and values that the reference does not round
    ) -> None:
        spec = read_spec(checkpoint)
        self._tokens = np.array(tokens, np.int32)
        self._blocks = np.arange(-(-len(tokens) // BLOCK_TOKENS), dtype=np.int32)[None]
        self._decoder = Decoder(spec, load(spec, checkpoint, kernels), kernels, CHUNK, CHUNK)
        count = self._blocks.size
        attentions = [layer.attention for layer in spec.layers]
        self._caches = tuple(
            LayerCache(
                np.zeros((count, each.kv_heads, each.head_dim, BLOCK_TOKENS), cached),
                np.zeros((count, each.kv_heads, BLOCK_TOKENS, each.head_dim), cached),
            )
            for each in attentions
        )

    def read(self, start: int, end: int) -> F32:
        """Logits [end - start, vocabulary] after each of the tokens [start, end)."""
        positions = np.arange(start, end, dtype=np.int32)
        batch = SpanBatch(
            np.array([0, end - start], np.int32), np.array([start], np.int32), self._blocks
        )
        rows = np.arange(end - start, dtype=np.int32)
        inputs = DecoderInputs(self._tokens[start:end], positions, positions, batch, rows)
        return self._decoder.forward(inputs, self._caches)
