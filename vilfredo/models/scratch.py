"""A decoder's working memory: made once for the largest step, seen through views of n rows."""

from dataclasses import dataclass

import numpy as np

from vilfredo.models.spec import Layer, ModelSpec
from vilfredo.ops.table import F32


@dataclass(frozen=True, slots=True)
class LayerViews:
    """One memory in the shapes that the ops ask for: rows, heads, and heads as rows of a norm."""

    query_rows: F32  # [n, heads * head_dim]
    queries: F32  # [n, heads, head_dim]
    query_heads: F32  # [n * heads, head_dim]
    key_rows: F32  # [n, kv_heads * head_dim]
    keys: F32  # [n, kv_heads, head_dim]
    key_heads: F32  # [n * kv_heads, head_dim]
    value_rows: F32  # [n, kv_heads * head_dim]
    values: F32  # [n, kv_heads, head_dim]
    mixed_rows: F32  # [n, heads * head_dim]
    mixed: F32  # [n, heads, head_dim]
    gate: F32  # [n, hidden]
    up: F32  # [n, hidden]


@dataclass(frozen=True, slots=True)
class Views:
    x: F32  # [n, width]: the residual stream
    normed: F32  # [n, width]
    change: F32  # [n, width]: what a half of a layer adds to x
    layers: tuple[LayerViews, ...]


class Scratch:
    def __init__(self, spec: ModelSpec, token_budget: int) -> None:
        self._spec = spec
        self.token_budget = token_budget
        attentions = [layer.attention for layer in spec.layers]
        queries = max(each.heads * each.head_dim for each in attentions)
        keys = max(each.kv_heads * each.head_dim for each in attentions)
        hidden = max(layer.feed_forward.hidden for layer in spec.layers)

        def buffer(width: int) -> F32:
            return np.empty(token_budget * width, np.float32)

        self._x, self._normed, self._change = (buffer(spec.width) for _ in range(3))
        self._queries, self._mixed = buffer(queries), buffer(queries)
        self._keys, self._values = buffer(keys), buffer(keys)
        self._gate, self._up = buffer(hidden), buffer(hidden)
        # Views of each number of rows that has been asked for: at most one entry a budgeted token.
        self._views: dict[int, Views] = {}

    def views(self, n: int) -> Views:
        found = self._views.get(n)
        if found is None:
            shapes: dict[tuple[int, ...], LayerViews] = {}  # most models have one for all layers
            width = self._spec.width
            found = self._views[n] = Views(
                _rows(self._x, n, width),
                _rows(self._normed, n, width),
                _rows(self._change, n, width),
                tuple(self._layer(layer, n, shapes) for layer in self._spec.layers),
            )
        return found

    def _layer(self, layer: Layer, n: int, shapes: dict[tuple[int, ...], LayerViews]) -> LayerViews:
        heads, kv_heads = layer.attention.heads, layer.attention.kv_heads
        head_dim, hidden = layer.attention.head_dim, layer.feed_forward.hidden
        key = (heads, kv_heads, head_dim, hidden)
        if key not in shapes:
            queries = _rows(self._queries, n, heads * head_dim)
            keys = _rows(self._keys, n, kv_heads * head_dim)
            values = _rows(self._values, n, kv_heads * head_dim)
            mixed = _rows(self._mixed, n, heads * head_dim)
            shapes[key] = LayerViews(
                queries,
                queries.reshape(n, heads, head_dim),
                queries.reshape(n * heads, head_dim),
                keys,
                keys.reshape(n, kv_heads, head_dim),
                keys.reshape(n * kv_heads, head_dim),
                values,
                values.reshape(n, kv_heads, head_dim),
                mixed,
                mixed.reshape(n, heads, head_dim),
                _rows(self._gate, n, hidden),
                _rows(self._up, n, hidden),
            )
        return shapes[key]


def _rows(flat: F32, n: int, width: int) -> F32:
    return flat[: n * width].reshape(n, width)
