"""Every op of the table in plain NumPy: the specification, and the oracle of all other tables.

Written to be read, in float32. Matrix products go to BLAS, whose sums may depend on the number of
rows: batch invariance, which other tables promise, does not hold here to the last bit.
"""

import time
from collections.abc import Callable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from vilfredo.base.errors import Unsupported
from vilfredo.base.quants import dequantize
from vilfredo.base.tensor import RawTensor
from vilfredo.ops.table import F32, I32, I64, Activation, LayerCache, Program, SpanBatch


class Matrix:
    """A weight as it lies in the checkpoint; its float32 form is made when first multiplied."""

    __slots__ = ("_dense", "raw")

    def __init__(self, raw: RawTensor) -> None:
        self.raw = raw
        self._dense: F32 | None = None

    @property
    def rows(self) -> int:
        return self.raw.shape[0]

    @property
    def columns(self) -> int:
        return self.raw.shape[1]

    @property
    def nbytes(self) -> int:
        return self.raw.data.nbytes

    @property
    def dense(self) -> F32:  # [rows, columns]
        if self._dense is None:
            self._dense = dequantize(self.raw).reshape(self.raw.shape)
        return self._dense

    def take(self, rows: I32) -> F32:
        """Some rows alone, without the whole matrix in float32: embeddings are large."""
        data = self.raw.data.reshape(self.rows, -1)[rows].reshape(-1)
        shape = (len(rows), self.columns)
        return dequantize(replace(self.raw, shape=shape, data=data)).reshape(shape)


class Repeated:
    """A recording for a table that has nothing to gain by one: asks for the same ops again."""

    names = ("all ops of the step",)
    work = ((0, 0),)

    def __init__(self, calls: Callable[[], None]) -> None:
        self._calls = calls

    def __len__(self) -> int:
        return 1

    def run(self, times: I64 | None = None) -> None:
        begin = time.monotonic_ns()
        self._calls()
        if times is not None:
            times[0] = begin, time.monotonic_ns(), 0


class ReferenceKernels:
    name = "reference"
    packing = None
    batch_invariant = False
    factor_error = 0.0

    def pack(self, tensor: RawTensor) -> Matrix:
        if len(tensor.shape) != 2:
            raise Unsupported(f"{tensor.name}: a matrix is wanted, not the shape {tensor.shape}")
        return Matrix(tensor)

    def record(self, calls: Callable[[], None]) -> Program:
        return Repeated(calls)

    def embed(self, table: Matrix, tokens: I32, scale: float, out: F32) -> None:
        out[:] = table.take(tokens) * np.float32(scale)

    def rms_norm(self, x: F32, weight: F32, eps: float, out: F32) -> None:
        mean_square = np.mean(np.square(x), axis=-1, keepdims=True)
        out[:] = x / np.sqrt(mean_square + np.float32(eps)) * weight

    def linear(self, x: F32, weight: Matrix, bias: F32 | None, out: F32) -> None:
        out[:] = x @ weight.dense.T
        if bias is not None:
            out += bias

    def rope(self, x: F32, cos: F32, sin: F32, interleaved: bool) -> None:
        half = x.shape[-1] // 2
        if interleaved:
            first, second = x[..., 0::2], x[..., 1::2]
        else:
            first, second = x[..., :half], x[..., half:]
        cos, sin = cos[:, None], sin[:, None]  # [n, 1, head_dim / 2]
        turned = first * cos - second * sin
        second[:] = first * sin + second * cos
        first[:] = turned

    def store(self, keys: F32, values: F32, cache: LayerCache, slots: I32) -> None:
        block, offset = np.divmod(slots, cache.keys.shape[-1])
        cache.keys[block, :, :, offset] = keys
        cache.values[block, :, offset] = values

    def attention(
        self,
        queries: F32,
        cache: LayerCache,
        batch: SpanBatch,
        scale: float,
        window: int,
        softcap: float,
        out: F32,
    ) -> None:
        _, kv_heads, head_dim, block_tokens = cache.keys.shape
        _, heads, _ = queries.shape
        for span, start in enumerate(batch.starts):
            rows = slice(batch.borders[span], batch.borders[span + 1])
            count = rows.stop - rows.start
            if count == 0:
                continue
            end = start + count
            blocks = batch.blocks[span, : -(-end // block_tokens)]
            keys = np.moveaxis(cache.keys[blocks], 0, 2)  # [kv_heads, dim, blocks, block_tokens]
            keys = keys.reshape(kv_heads, head_dim, -1)[:, :, :end].astype(np.float32)
            values = np.moveaxis(cache.values[blocks], 0, 1)  # [kv_heads, blocks, tokens, dim]
            values = values.reshape(kv_heads, -1, head_dim)[:, :end].astype(np.float32)
            # Heads that share a kv head lie side by side: [kv_heads, group, count, head_dim]
            grouped = queries[rows].reshape(count, kv_heads, heads // kv_heads, head_dim)
            scores = grouped.transpose(1, 2, 0, 3) @ keys[:, None] * np.float32(scale)
            if softcap:
                scores = np.float32(softcap) * np.tanh(scores / np.float32(softcap))
            position = np.arange(start, end)[:, None]  # of the query
            past = np.arange(end)[None, :]
            seen = past <= position
            if window:
                seen &= past > position - window
            weights = _softmax(np.where(seen, scores, np.float32(-np.inf)))
            mixed = weights @ values[:, None]  # [kv_heads, group, count, head_dim]
            out[rows] = mixed.transpose(2, 0, 1, 3).reshape(count, heads, head_dim)

    def gate(self, activation: Activation, gate: F32, up: F32, out: F32) -> None:
        match activation:
            case "silu":
                with np.errstate(over="ignore"):  # exp(-x) = inf gives the limit, 0
                    active = gate / (1 + np.exp(-gate))
            case "gelu_tanh":
                cubic = gate * (1 + np.float32(0.044715) * np.square(gate))  # x + 0.044715 x³
                inner = np.float32(np.sqrt(2 / np.pi)) * cubic
                active = np.float32(0.5) * gate * (1 + np.tanh(inner))
        out[:] = active * up

    def add(self, x: F32, y: F32) -> None:
        x += y

    def take(self, x: F32, rows: I32, out: F32) -> None:
        out[:] = x[rows]

    def softcap(self, x: F32, cap: float) -> None:
        x[:] = np.float32(cap) * np.tanh(x / np.float32(cap))

    def top(self, logits: F32, out_ids: I32, out_values: F32, out_logsumexp: F32) -> None:
        for row, values in enumerate(logits):
            peak = values.max()  # NaN if any is
            if not np.isfinite(peak):
                out_ids[row, 0] = -1
                continue
            best = _largest(values, out_ids.shape[1])
            out_ids[row] = best
            out_values[row] = values[best]
            out_logsumexp[row] = peak + np.log(np.sum(np.exp(values - peak)))


def _largest(values: F32, count: int) -> NDArray[np.intp]:
    """Ids of the largest, falling. A vocabulary is long, so only what can be among them is sorted:
    all that equal the last of them too, that the lower ids come first."""
    least = np.partition(values, -count)[-count]
    ids = np.flatnonzero(values >= least)  # rising, and a stable sort keeps them so among equals
    return ids[np.argsort(-values[ids], kind="stable")[:count]]


def _softmax(scores: F32) -> F32:
    """Over the last axis; every row sees at least itself."""
    powers = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return powers / powers.sum(axis=-1, keepdims=True)
