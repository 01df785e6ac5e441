"""The op table: all the arithmetic that a model may ask for, about a dozen operations.

`reference.py` is the specification; every other table is compared with it. Arrays are NumPy,
C-contiguous, float32 unless said otherwise. Results go into `out` arrays that the caller owns, so
that a step's calls can be recorded and replayed. Shapes are given as comments.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from vilfredo.base.tensor import RawTensor

F32 = NDArray[np.float32]
F16 = NDArray[np.float16]
I32 = NDArray[np.int32]
I64 = NDArray[np.int64]
U8 = NDArray[np.uint8]

Activation = Literal["silu", "gelu_tanh"]  # of a gate
Nonlinearity = Literal["gelu", "gelu_tanh", "relu", "tanh"]  # of a single matrix


class Packed(Protocol):
    """A matrix in the layout of the table that packed it; opaque to everyone else."""

    @property
    def rows(self) -> int: ...

    @property
    def columns(self) -> int: ...

    @property
    def nbytes(self) -> int: ...


class Packing(Protocol):
    """Matrices in memory that the caller gives, and may keep on disk. `layout` names what is made
    of them, and tables that share it read what the others made; `version` changes with whatever
    may change a byte of it."""

    @property
    def layout(self) -> str: ...

    @property
    def version(self) -> str: ...

    def size(self, tensor: RawTensor) -> int:
        """Bytes of the packed matrix."""
        ...

    def pack(self, tensor: RawTensor, memory: U8) -> float:
        """Fills the memory, `size` bytes aligned to 64, and gives the gain that `open` asks for."""
        ...

    def open(self, tensor: RawTensor, gain: float, memory: U8) -> Packed:
        """The matrix in the memory that `pack` filled. The tensor's own bytes are not read."""
        ...


@dataclass(frozen=True, slots=True)
class LayerCache:
    """The paged keys and values of one layer.

    Keys lie with the tokens of a block side by side, so that a vector lane is a token when scores
    are computed; values lie with the head's dimensions side by side, for the weighted sum.
    """

    keys: F16  # [blocks, kv_heads, head_dim, block_tokens]
    values: F16  # [blocks, kv_heads, block_tokens, head_dim]


@dataclass(frozen=True, slots=True)
class SpanBatch:
    """Where each span of a step lies: its rows of the token batch, its past, its blocks."""

    borders: I32  # [spans + 1]: span s owns rows borders[s] to borders[s + 1], possibly none
    starts: I32  # [spans]: position in its sequence of each span's first row
    blocks: I32  # [spans, most blocks of any span]: block tables, padded with -1


class Program(Protocol):
    """Calls that were recorded. They read and write the arrays that they were recorded with."""

    def __len__(self) -> int:
        """Calls that it makes."""
        ...

    @property
    def names(self) -> Sequence[str]:
        """What each call does. A table may bring several ops together in one call."""
        ...

    @property
    def work(self) -> Sequence[tuple[int, int]]:
        """Bytes of weights that each call reads and multiply-adds that it does, where it is a
        matrix product and the table tells; else zeros."""
        ...

    def run(self, times: I64 | None = None) -> None:
        """Computes all calls. `times` [calls, 3] receives when each began and ended, and how long
        of it the calling thread waited for the others, in nanoseconds of time.monotonic_ns."""
        ...


class Kernels(Protocol):
    """Chosen once at start. Every op is deterministic.

    `batch_invariant`: a row's result does not depend on which other rows are computed with it, to
    the last bit. `factor_error`: how far the factors of a product may be rounded, relative to each
    (2^-9 for bfloat16; 0 where activations are only rounded to 16 bits a group of 32).
    """

    name: str
    packing: Packing | None  # None: matrices stay as the checkpoint has them
    batch_invariant: bool
    factor_error: float

    def pack(self, tensor: RawTensor) -> Packed:
        """Brings a [rows, columns] weight into the table's layout. Raises Unsupported."""
        ...

    def record(self, calls: Callable[[], None]) -> Program:
        """Keeps the ops that `calls` asks for, to be run later and again and again. Results are
        those of the ops one by one, to the last bit where the table is deterministic."""
        ...

    def embed(self, table: Packed, tokens: I32, scale: float, out: F32) -> None:
        """out[t] = table[tokens[t]] * scale. tokens [n], out [n, columns]."""
        ...

    def rms_norm(self, x: F32, weight: F32, eps: float, out: F32) -> None:
        """out = x / sqrt(mean(x²) + eps) * weight over the last axis (Zhang & Sennrich 2019).

        x and out [n, width] and may be the same array; weight [width].
        """
        ...

    def linear(self, x: F32, weight: Packed, bias: F32 | None, out: F32) -> None:
        """out = x · weightᵀ + bias. x [n, columns], bias [rows], out [n, rows]."""
        ...

    def rope(self, x: F32, cos: F32, sin: F32, interleaved: bool) -> None:
        """Rotates in place (Su et al. 2021). x [n, heads, head_dim], cos and sin [n, head_dim/2].

        Pairs are (2i, 2i+1) if interleaved, else (i, i + head_dim/2).
        """
        ...

    def store(self, keys: F32, values: F32, cache: LayerCache, slots: I32) -> None:
        """Writes one row a token. keys, values [n, kv_heads, head_dim]; slots [n], where a slot
        is block * block_tokens + offset."""
        ...

    def attention(
        self,
        queries: F32,  # [n, heads, head_dim]
        cache: LayerCache,
        batch: SpanBatch,
        scale: float,
        window: int,  # a query at position p sees p - window < j <= p; 0: all j <= p
        softcap: float,  # scores become softcap * tanh(scores / softcap); 0: none
        out: F32,  # [n, heads, head_dim]
    ) -> None:
        """Causal softmax attention over the paged cache, which already holds the step's own keys.
        Query head h reads kv head h // (heads / kv_heads)."""
        ...

    def gate(self, activation: Activation, gate: F32, up: F32, out: F32) -> None:
        """out = activation(gate) * up, elementwise; out may be either input. All [n, width]."""
        ...

    def add(self, x: F32, y: F32) -> None:
        """x += y, elementwise; both [n, width]."""
        ...

    def take(self, x: F32, rows: I32, out: F32) -> None:
        """out[i] = x[rows[i]]. x [n, width], rows [r], out [r, width]."""
        ...

    def softcap(self, x: F32, cap: float) -> None:
        """x = cap * tanh(x / cap), elementwise; x [n, width], cap > 0."""
        ...

    def top(self, logits: F32, out_ids: I32, out_values: F32, out_logsumexp: F32) -> None:
        """The k largest of each row in falling order, the lower id first among equals.

        logits [n, vocabulary]; out_ids, out_values [n, k]; out_logsumexp [n]. A row with a NaN
        or +inf, or without any finite value, has out_ids[row, 0] = -1.
        """
        ...


def as_kernels(table: Any) -> Kernels:
    """Types a table at the seam where it is chosen (native tables are not annotated)."""
    return table
