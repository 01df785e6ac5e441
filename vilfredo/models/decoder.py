"""The one decoder: runs any ModelSpec over the rows of a step. Never samples, never schedules.

The calls of a step are recorded the first time that its shape is seen and replayed from then on, so
that a step costs Python no more than filling in its inputs.
"""

from collections import OrderedDict
from collections.abc import Callable, Sequence

import numpy as np

from vilfredo.models.frame import Frame, Shape, shape_of
from vilfredo.models.inputs import DecoderInputs
from vilfredo.models.rotations import Rotations
from vilfredo.models.scratch import LayerViews, Scratch, Views
from vilfredo.models.spec import Layer, ModelSpec
from vilfredo.models.weights import LayerWeights, Weights
from vilfredo.ops.table import F32, I32, Kernels, LayerCache, Program

# Sees each named result as it is made. The array is working memory: copy what is to be kept.
Observer = Callable[[str, F32], None]

MOST_SHAPES = 64  # recorded at once; the one that was used least recently gives way


def replay(program: Program) -> None:
    program.run()


class Decoder:
    """For one caller at a time: its working memory is made once, for `token_budget` rows of which
    `max_samples` want logits. With an observer nothing is recorded: every op runs as it is met.
    `run` is how recorded calls are run: a profiler's may look at the clock."""

    def __init__(
        self,
        spec: ModelSpec,
        weights: Weights,
        kernels: Kernels,
        token_budget: int,
        max_samples: int,
        observe: Observer | None = None,
        run: Callable[[Program], None] = replay,
    ) -> None:
        self.spec = spec
        self._weights = weights
        self._kernels = kernels
        self._scratch = Scratch(spec, token_budget)
        self._logits = np.empty((max_samples, spec.vocabulary), np.float32)
        self._rotations = Rotations(layer.attention.rope for layer in spec.layers)
        self._observe = observe
        self._run = run
        self._caches: Sequence[LayerCache] = ()
        self._bodies: OrderedDict[Shape, tuple[Frame, Program]] = OrderedDict()
        self._heads: dict[int, tuple[I32, Program]] = {}  # by the number of rows that sample

    def forward(self, inputs: DecoderInputs, caches: Sequence[LayerCache]) -> F32:
        """Logits [sample rows, vocabulary], valid until the next call; the caller may change them.

        Writes the rows' keys and values into `caches`, one a layer.
        """
        if self._observe is not None:
            return self._watched(inputs, caches)
        if caches is not self._caches:
            self._caches = caches
            self._bodies.clear()
        frame, program = self._body(shape_of(inputs))
        frame.fill(inputs, self._rotations)
        self._run(program)
        count = len(inputs.sample_rows)
        if count:
            rows, program = self._head(count)
            rows[:] = inputs.sample_rows
            self._run(program)
        return self._logits[:count]

    def _body(self, shape: Shape) -> tuple[Frame, Program]:
        found = self._bodies.get(shape)
        if found is None:
            frame = Frame(shape, self._rotations.ropes)
            program = self._kernels.record(lambda: self._layers(frame, self._caches))
            found = self._bodies[shape] = frame, program
            if len(self._bodies) > MOST_SHAPES:
                self._bodies.popitem(last=False)
        self._bodies.move_to_end(shape)
        return found

    def _head(self, count: int) -> tuple[I32, Program]:
        found = self._heads.get(count)
        if found is None:
            rows = np.zeros(count, np.int32)
            found = self._heads[count] = rows, self._kernels.record(lambda: self._sample(rows))
        return found

    def _watched(self, inputs: DecoderInputs, caches: Sequence[LayerCache]) -> F32:
        frame = Frame(shape_of(inputs), self._rotations.ropes)
        frame.fill(inputs, self._rotations)
        self._layers(frame, caches)
        if len(inputs.sample_rows):
            self._sample(inputs.sample_rows)
        return self._logits[: len(inputs.sample_rows)]

    def _layers(self, frame: Frame, caches: Sequence[LayerCache]) -> None:
        views = self._scratch.views(len(frame.tokens))
        x = views.x
        self._kernels.embed(self._weights.embedding, frame.tokens, self.spec.embed_scale, x)
        self._saw("embedding", x)
        layers = zip(self.spec.layers, self._weights.layers, views.layers, caches, strict=True)
        for number, (layer, weights, rows, cache) in enumerate(layers):
            self._norm(x, weights.attention_norm, views.normed)
            self._attend(layer, weights, rows, views, frame, cache)
            self._join(x, views.change, weights.post_attention_norm)
            self._saw(f"layers.{number}.attention", x)
            self._norm(x, weights.feed_forward_norm, views.normed)
            self._feed(layer, weights, rows, views)
            self._join(x, views.change, weights.post_feed_forward_norm)
            self._saw(f"layers.{number}.feed_forward", x)

    def _attend(
        self,
        layer: Layer,
        weights: LayerWeights,
        rows: LayerViews,
        views: Views,
        frame: Frame,
        cache: LayerCache,
    ) -> None:
        kernels, attention, x = self._kernels, layer.attention, views.normed
        kernels.linear(x, weights.query, weights.query_bias, rows.query_rows)
        kernels.linear(x, weights.key, weights.key_bias, rows.key_rows)
        kernels.linear(x, weights.value, weights.value_bias, rows.value_rows)
        if weights.query_norm is not None and weights.key_norm is not None:
            self._norm(rows.query_heads, weights.query_norm, rows.query_heads)
            self._norm(rows.key_heads, weights.key_norm, rows.key_heads)
        cos, sin = frame.turns[attention.rope]
        kernels.rope(rows.queries, cos, sin, attention.rope.interleaved)
        kernels.rope(rows.keys, cos, sin, attention.rope.interleaved)
        kernels.store(rows.keys, rows.values, cache, frame.slots)
        kernels.attention(
            rows.queries,
            cache,
            frame.batch,
            attention.scale,
            attention.window,
            attention.softcap,
            rows.mixed,
        )
        kernels.linear(rows.mixed_rows, weights.output, None, views.change)

    def _feed(self, layer: Layer, weights: LayerWeights, rows: LayerViews, views: Views) -> None:
        kernels = self._kernels
        kernels.linear(views.normed, weights.gate, None, rows.gate)
        kernels.linear(views.normed, weights.up, None, rows.up)
        kernels.gate(layer.feed_forward.activation, rows.gate, rows.up, rows.gate)
        kernels.linear(rows.gate, weights.down, None, views.change)

    def _join(self, x: F32, change: F32, post_norm: F32 | None) -> None:
        """Adds what a half of a layer made to the residual stream."""
        if post_norm is not None:
            self._norm(change, post_norm, change)
        self._kernels.add(x, change)

    def _sample(self, rows: I32) -> None:
        """Only rows that sample are normed and multiplied with the head, the largest matrix."""
        views = self._scratch.views(self._scratch.token_budget)
        normed, logits = views.normed[: len(rows)], self._logits[: len(rows)]
        self._kernels.take(views.x, rows, normed)
        self._norm(normed, self._weights.norm, normed)
        self._kernels.linear(normed, self._weights.head, None, logits)
        if self.spec.logit_softcap:
            self._kernels.softcap(logits, self.spec.logit_softcap)
        self._saw("logits", logits)

    def _norm(self, x: F32, weight: F32, out: F32) -> None:
        self._kernels.rms_norm(x, weight, self.spec.norm_eps, out)

    def _saw(self, name: str, array: F32) -> None:
        if self._observe is not None:
            self._observe(name, array)
