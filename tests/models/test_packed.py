"""A model's matrices in one memory, packed once and then read."""

import dataclasses

import numpy as np
import pytest

from vilfredo.base.errors import BadFile
from vilfredo.models.families import read_spec
from vilfredo.models.packed import load_packed
from vilfredo.models.tensors import matrices
from vilfredo.models.weights import LayerWeights, load
from vilfredo.ops.cpu import CpuKernels, cpu_tables
from vilfredo.ops.packing import NativePacking
from vilfredo.ops.reference import ReferenceKernels
from vilfredo.weights.open import open_checkpoint
from vilfredo.weights.packedcache import PackedCache


class CountingPacking(NativePacking):
    def __init__(self, native, version):
        super().__init__(native, version)
        self.packed = []

    def pack(self, tensor, memory):
        self.packed.append(tensor.name)
        return super().pack(tensor, memory)


class Counting(CpuKernels):
    """A native table that counts the matrices that it packs."""

    def __init__(self, name=None):
        super().__init__(name or cpu_tables()[0], 1)
        self.packing = CountingPacking(self._native, self.packing.version)

    @property
    def packed(self):
        return self.packing.packed


@pytest.fixture
def cache(tmp_path):
    return PackedCache(tmp_path / "packed", free=lambda folder: 1 << 40)


def same(kernels, ours, theirs):
    """Matrices by their rows, vectors as they are."""
    if ours is None or theirs is None:
        assert ours is theirs
    elif isinstance(ours, np.ndarray):
        assert np.array_equal(ours, theirs)
    else:
        rows = np.arange(ours.rows, dtype=np.int32)
        outs = [np.empty((ours.rows, ours.columns), np.float32) for _ in range(2)]
        for matrix, out in zip((ours, theirs), outs, strict=True):
            kernels.embed(matrix, rows, 1.0, out)
        assert np.array_equal(*outs)


def same_weights(kernels, ours, theirs):
    for part in ("embedding", "norm", "head"):
        same(kernels, getattr(ours, part), getattr(theirs, part))
    for our, their in zip(ours.layers, theirs.layers, strict=True):
        for field in dataclasses.fields(LayerWeights):
            same(kernels, getattr(our, field.name), getattr(their, field.name))


@pytest.mark.parametrize("keep", [True, False])
def test_a_second_start_has_the_same_weights_and_packs_nothing(tiny_gguf, cache, keep):
    checkpoint, kernels = open_checkpoint(tiny_gguf), Counting()
    spec = read_spec(checkpoint)
    plain = load(spec, checkpoint, kernels)
    for starts in (1, 2, 3):
        weights = load_packed(spec, checkpoint, kernels, cache if keep else None)
        same_weights(kernels, weights, plain)
        assert len(kernels.packed) == 15 * (1 if keep else starts)
    assert weights.head is weights.embedding


def test_a_table_of_another_layout_packs_for_itself(tiny_gguf, cache):
    checkpoint = open_checkpoint(tiny_gguf)
    spec = read_spec(checkpoint)
    tables = {Counting(name).packing.layout: Counting(name) for name in cpu_tables()}
    for kernels in (*tables.values(), *tables.values()):
        load_packed(spec, checkpoint, kernels, cache)
    assert [len(kernels.packed) for kernels in tables.values()] == [15] * len(tables)
    assert len(list(cache.folder.glob("*.packed"))) == len(tables)


def test_the_reference_reads_the_checkpoint_as_it_is(tiny_gguf, cache):
    checkpoint = open_checkpoint(tiny_gguf)
    load_packed(read_spec(checkpoint), checkpoint, ReferenceKernels(), cache)
    assert not cache.folder.exists()


def test_a_head_of_its_own_is_packed_too(twins):
    for tied, parts in ((True, ["embedding"]), (False, ["embedding", "head"])):
        _, hf = twins("qwen2", tied)
        spec = read_spec(hf)
        names = [tensor.name for tensor in matrices(spec, hf)]
        assert len(names) == len(set(names)) == len(parts) + 7 * len(spec.layers)


def test_a_missing_matrix_is_named_before_anything_is_packed(twins, cache):
    gguf, _ = twins("llama")
    del gguf.arrays["blk.1.ffn_up.weight"]
    with pytest.raises(BadFile, match=r"has no tensor blk.1.ffn_up.weight"):
        load_packed(read_spec(gguf), gguf, Counting(), cache)
    assert not cache.folder.exists()
