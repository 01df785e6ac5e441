"""A tiny model of random weights, without a file."""

from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest

from vilfredo.base.tensor import RawTensor
from vilfredo.models.names import names_of
from vilfredo.models.spec import Attention, FeedForward, Layer, ModelSpec, Rope

WIDTH, HIDDEN, VOCABULARY = 64, 96, 50


class RandomCheckpoint:
    """Makes each tensor from its name alone, in the shape that the spec asks for."""

    kind = "gguf"
    path = Path("random")
    config: ClassVar[dict] = {}

    def __init__(self, spec):
        self._shapes = {}
        for number, layer in enumerate(spec.layers):
            attention = layer.attention
            queries = attention.heads * attention.head_dim
            keys = attention.kv_heads * attention.head_dim
            parts = {
                "embedding": (spec.vocabulary, spec.width),
                "norm": (spec.width,),
                "attention_norm": (spec.width,),
                "feed_forward_norm": (spec.width,),
                "query": (queries, spec.width),
                "key": (keys, spec.width),
                "value": (keys, spec.width),
                "output": (spec.width, queries),
                "gate": (layer.feed_forward.hidden, spec.width),
                "up": (layer.feed_forward.hidden, spec.width),
                "down": (spec.width, layer.feed_forward.hidden),
            }
            names = names_of(spec, number)
            self._shapes |= {names[part]: shape for part, shape in parts.items()}

    def names(self):
        return frozenset(self._shapes)

    def tensor(self, name):
        shape = self._shapes[name]
        random = np.random.default_rng(list(name.encode()))
        values = random.standard_normal(shape).astype(np.float32) * np.float32(0.4)
        if len(shape) == 1:
            values += 1
        return RawTensor(name, "F32", shape, values.reshape(-1).view(np.uint8))


@pytest.fixture(scope="session")
def tiny_spec():
    """A layer that sees everything, and one with a short window."""
    feed_forward = FeedForward(HIDDEN, "silu")
    full = Attention(4, 2, 16, Rope(10_000.0, 16), 0.25)
    local = Attention(4, 4, 16, Rope(100.0, 16, interleaved=True), 0.25, window=6)
    layers = (Layer(full, feed_forward), Layer(local, feed_forward))
    return ModelSpec("llama", VOCABULARY, WIDTH, layers, 1e-5, 128, tied_head=True)


@pytest.fixture(scope="session")
def tiny_checkpoint(tiny_spec):
    return RandomCheckpoint(tiny_spec)
