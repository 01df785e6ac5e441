"""The one decoder: runs any ModelSpec over the rows of a step. Never samples, never schedules."""

from collections.abc import Callable, Sequence

import numpy as np

from vilfredo.models.inputs import DecoderInputs
from vilfredo.models.rotations import Rotations
from vilfredo.models.scratch import LayerViews, Scratch
from vilfredo.models.spec import Layer, ModelSpec, Rope
from vilfredo.models.weights import LayerWeights, Weights
from vilfredo.ops.table import F32, I32, Kernels, LayerCache

# Sees each named result as it is made. The array is working memory: copy what is to be kept.
Observer = Callable[[str, F32], None]
Turns = dict[Rope, tuple[F32, F32]]


class Decoder:
    """For one caller at a time: its working memory is made once, for `token_budget` rows of which
    `max_samples` want logits."""

    def __init__(
        self,
        spec: ModelSpec,
        weights: Weights,
        kernels: Kernels,
        token_budget: int,
        max_samples: int,
        observe: Observer | None = None,
    ) -> None:
        self.spec = spec
        self._weights = weights
        self._kernels = kernels
        self._scratch = Scratch(spec, token_budget)
        self._logits = np.empty((max_samples, spec.vocabulary), np.float32)
        self._rotations = Rotations(layer.attention.rope for layer in spec.layers)
        self._observe = observe

    def forward(self, inputs: DecoderInputs, caches: Sequence[LayerCache]) -> F32:
        """Logits [sample rows, vocabulary], valid until the next call; the caller may change them.

        Writes the rows' keys and values into `caches`, one a layer.
        """
        views = self._scratch.views(len(inputs.tokens))
        x = views.x
        self._kernels.embed(self._weights.embedding, inputs.tokens, self.spec.embed_scale, x)
        self._saw("embedding", x)
        turns = self._rotations.at(inputs.positions)
        layers = zip(self.spec.layers, self._weights.layers, views.layers, caches, strict=True)
        for number, (layer, weights, rows, cache) in enumerate(layers):
            self._norm(x, weights.attention_norm, views.normed)
            self._attend(layer, weights, rows, views.normed, views.change, inputs, cache, turns)
            self._join(x, views.change, weights.post_attention_norm)
            self._saw(f"layers.{number}.attention", x)
            self._norm(x, weights.feed_forward_norm, views.normed)
            self._feed(layer, weights, rows, views.normed, views.change)
            self._join(x, views.change, weights.post_feed_forward_norm)
            self._saw(f"layers.{number}.feed_forward", x)
        return self._head(x, views.normed, inputs.sample_rows)

    def _attend(
        self,
        layer: Layer,
        weights: LayerWeights,
        rows: LayerViews,
        x: F32,
        out: F32,
        inputs: DecoderInputs,
        cache: LayerCache,
        turns: Turns,
    ) -> None:
        kernels, attention = self._kernels, layer.attention
        kernels.linear(x, weights.query, weights.query_bias, rows.query_rows)
        kernels.linear(x, weights.key, weights.key_bias, rows.key_rows)
        kernels.linear(x, weights.value, weights.value_bias, rows.value_rows)
        if weights.query_norm is not None and weights.key_norm is not None:
            self._norm(rows.query_heads, weights.query_norm, rows.query_heads)
            self._norm(rows.key_heads, weights.key_norm, rows.key_heads)
        cos, sin = turns[attention.rope]
        kernels.rope(rows.queries, cos, sin, attention.rope.interleaved)
        kernels.rope(rows.keys, cos, sin, attention.rope.interleaved)
        kernels.store(rows.keys, rows.values, cache, inputs.slots)
        kernels.attention(
            rows.queries,
            cache,
            inputs.batch,
            attention.scale,
            attention.window,
            attention.softcap,
            rows.mixed,
        )
        kernels.linear(rows.mixed_rows, weights.output, None, out)

    def _feed(
        self, layer: Layer, weights: LayerWeights, rows: LayerViews, x: F32, out: F32
    ) -> None:
        kernels = self._kernels
        kernels.linear(x, weights.gate, None, rows.gate)
        kernels.linear(x, weights.up, None, rows.up)
        kernels.gate(layer.feed_forward.activation, rows.gate, rows.up, rows.gate)
        kernels.linear(rows.gate, weights.down, None, out)

    def _join(self, x: F32, change: F32, post_norm: F32 | None) -> None:
        """Adds what a half of a layer made to the residual stream."""
        if post_norm is not None:
            self._norm(change, post_norm, change)
        self._kernels.add(x, change)

    def _head(self, x: F32, normed: F32, sample_rows: I32) -> F32:
        """Only rows that sample are normed and multiplied with the head, the largest matrix."""
        count = len(sample_rows)
        logits, normed = self._logits[:count], normed[:count]
        if not count:
            return logits
        # "clip" spares a buffered copy; the rows are known to lie within.
        np.take(x, sample_rows, axis=0, out=normed, mode="clip")
        self._norm(normed, self._weights.norm, normed)
        self._kernels.linear(normed, self._weights.head, None, logits)
        if self.spec.logit_softcap:
            logits /= np.float32(self.spec.logit_softcap)
            np.tanh(logits, out=logits)
            logits *= np.float32(self.spec.logit_softcap)
        self._saw("logits", logits)
        return logits

    def _norm(self, x: F32, weight: F32, out: F32) -> None:
        self._kernels.rms_norm(x, weight, self.spec.norm_eps, out)

    def _saw(self, name: str, array: F32) -> None:
        if self._observe is not None:
            self._observe(name, array)
