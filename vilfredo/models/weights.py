"""A model's weights as the kernels want them: packed matrices and float32 vectors, checked."""

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from vilfredo.base.errors import Unsupported
from vilfredo.base.quants import dequantize
from vilfredo.base.tensor import RawTensor
from vilfredo.models.names import DERIVED, names_of
from vilfredo.models.spec import Layer, ModelSpec
from vilfredo.models.tensors import checked_tensor, layer_matrices, outer_matrices
from vilfredo.ops.table import F32, Packed
from vilfredo.weights.checkpoint import Checkpoint


@dataclass(frozen=True, slots=True)
class LayerWeights:
    """Vectors are None where the layer's spec has no such part."""

    attention_norm: F32  # [width]
    query: Packed  # [heads * head_dim, width]
    key: Packed  # [kv_heads * head_dim, width]
    value: Packed  # [kv_heads * head_dim, width]
    output: Packed  # [width, heads * head_dim]
    feed_forward_norm: F32  # [width]
    gate: Packed  # [hidden, width]
    up: Packed  # [hidden, width]
    down: Packed  # [width, hidden]
    query_bias: F32 | None  # [heads * head_dim]
    key_bias: F32 | None  # [kv_heads * head_dim]
    value_bias: F32 | None  # [kv_heads * head_dim]
    query_norm: F32 | None  # [head_dim]
    key_norm: F32 | None  # [head_dim]
    post_attention_norm: F32 | None  # [width]
    post_feed_forward_norm: F32 | None  # [width]


@dataclass(frozen=True, slots=True)
class Weights:
    embedding: Packed  # [vocabulary, width]
    layers: tuple[LayerWeights, ...]
    norm: F32  # [width]
    head: Packed  # [vocabulary, width]; the embedding itself where the head is tied


class Packer(Protocol):
    """What gives the packed form of a matrix: an op table, or what keeps it from earlier."""

    def pack(self, tensor: RawTensor) -> Packed: ...


def load(spec: ModelSpec, checkpoint: Checkpoint, packer: Packer) -> Weights:
    """Raises BadFile for a tensor that is missing or of another shape than the spec's, and
    Unsupported for one that the spec has no place for: it would be silently left out."""
    loader = _Loader(spec, checkpoint, packer)
    layers = tuple(loader.layer(number, layer) for number, layer in enumerate(spec.layers))
    names = names_of(spec, 0)
    outer = {
        part: loader.matrix(names[part], shape) for part, shape in outer_matrices(spec).items()
    }
    norm = loader.norm(names["norm"], spec.width)
    if spec.tied_head:
        loader.taken.add(names["head"])  # a copy of the embedding that some files carry
    left = sorted(n for n in checkpoint.names() - loader.taken if not n.endswith(DERIVED))
    if left:
        raise Unsupported(
            f"{checkpoint.path}: the {spec.family} family has no place for {left[0]} "
            f"({len(left)} such tensors)"
        )
    return Weights(outer["embedding"], layers, norm, outer.get("head", outer["embedding"]))


class _Loader:
    """Takes tensors by name, remembering which."""

    def __init__(self, spec: ModelSpec, checkpoint: Checkpoint, packer: Packer) -> None:
        self._spec = spec
        self._checkpoint = checkpoint
        self._packer = packer
        self.taken: set[str] = set()

    def matrix(self, name: str, shape: tuple[int, int]) -> Packed:
        return self._packer.pack(self._tensor(name, shape))

    def vector(self, name: str, size: int) -> F32:
        raw = self._tensor(name, (size,))
        return np.array(dequantize(raw), np.float32)  # a copy: the file may be unmapped

    def norm(self, name: str, size: int) -> F32:
        return self.vector(name, size) + np.float32(self._spec.norm_offset)

    def layer(self, number: int, layer: Layer) -> LayerWeights:
        attention = layer.attention
        width, head_dim = self._spec.width, attention.head_dim
        queries, keys = attention.heads * head_dim, attention.kv_heads * head_dim
        names = names_of(self._spec, number)
        bias, qk_norm, post_norms = attention.bias, attention.qk_norm, layer.post_norms
        return LayerWeights(
            attention_norm=self.norm(names["attention_norm"], width),
            feed_forward_norm=self.norm(names["feed_forward_norm"], width),
            query_bias=self.vector(names["query_bias"], queries) if bias else None,
            key_bias=self.vector(names["key_bias"], keys) if bias else None,
            value_bias=self.vector(names["value_bias"], keys) if bias else None,
            query_norm=self.norm(names["query_norm"], head_dim) if qk_norm else None,
            key_norm=self.norm(names["key_norm"], head_dim) if qk_norm else None,
            post_attention_norm=(
                self.norm(names["post_attention_norm"], width) if post_norms else None
            ),
            post_feed_forward_norm=(
                self.norm(names["post_feed_forward_norm"], width) if post_norms else None
            ),
            **{
                part: self.matrix(names[part], shape)
                for part, shape in layer_matrices(self._spec, layer).items()
            },
        )

    def _tensor(self, name: str, shape: tuple[int, ...]) -> RawTensor:
        raw = checked_tensor(self._checkpoint, name, shape)
        self.taken.add(name)
        return raw
