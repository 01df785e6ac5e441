"""The native CPU tables: binds csrc to the op table. All checks of shapes are the native side's."""

from collections.abc import Callable
from typing import Any

from vilfredo.base.tensor import RawTensor
from vilfredo.ops import _cpu  # pyright: ignore[reportAttributeAccessIssue]
from vilfredo.ops.packing import NativePacking
from vilfredo.ops.table import F32, I32, I64, LayerCache, Packed, Program, SpanBatch


def cpu_tables() -> tuple[str, ...]:
    """Names of the native tables that this machine can run, best first."""
    return tuple(_cpu.tables())


class Recorded:
    """Calls that the native side kept, fused where neighbours allow it."""

    def __init__(self, native: Any, program: Any) -> None:
        self._native = native
        self._program = program

    def __len__(self) -> int:
        return len(self._program)

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self._program.names)

    @property
    def work(self) -> tuple[tuple[int, int], ...]:
        return tuple(self._program.work)

    def run(self, times: I64 | None = None) -> None:
        self._native.replay(self._program, times)


class CpuKernels:
    """One instruction set's kernels and the threads that run them; for one caller at a time.

    Integer weights are multiplied with activations rounded to 16 bits, one scale a group of 32,
    and their sums are exact; what parts results from the reference is the rounding of scales to
    float16 in the K formats (2e-4 of a row's norm; 2e-5 in the others). That is batch invariant to
    the last bit. cpu-amx rounds the weights and activations of products of 17 rows and more to
    bfloat16 instead, for the matrix unit, which is not.
    """

    def __init__(self, name: str, threads: int) -> None:
        self.name = name
        native = _cpu.Kernels(name, threads)
        self._native = native
        self.packing = NativePacking(native, _cpu.layout_version)
        self.batch_invariant: bool = native.batch_invariant
        self.factor_error: float = native.factor_error
        # Bound here and not wrapped: a call then costs what the native one does.
        self.embed = native.embed
        self.rms_norm = native.rms_norm
        self.linear = native.linear
        self.rope = native.rope
        self.gate = native.gate
        self.add = native.add
        self.take = native.take
        self.softcap = native.softcap
        self.top = native.top

    def pack(self, tensor: RawTensor) -> Packed:
        return self.packing.pack_alone(tensor)

    def record(self, calls: Callable[[], None]) -> Program:
        self._native.begin_recording()
        try:
            calls()
        finally:
            program = self._native.end_recording()
        return Recorded(self._native, program)

    def store(self, keys: F32, values: F32, cache: LayerCache, slots: I32) -> None:
        self._native.store(keys, values, cache.keys, cache.values, slots)

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
        self._native.attention(
            queries, cache.keys, cache.values, batch.borders, batch.starts, batch.blocks,
            scale, window, softcap, out,
        )  # fmt: skip
