"""Every named result of one pass over a prompt, kept: what `verify` compares."""

from collections.abc import Mapping, Sequence

import numpy as np

from vilfredo.models.decoder import Decoder
from vilfredo.models.families import read_spec
from vilfredo.models.inputs import DecoderInputs
from vilfredo.models.spec import ModelSpec
from vilfredo.models.weights import load
from vilfredo.ops.table import F32, Kernels, LayerCache, SpanBatch
from vilfredo.weights.checkpoint import Checkpoint

BLOCK_TOKENS = 16

Trace = Mapping[str, F32]  # "embedding", "layers.0.attention", …: [n, …]; "logits" for every row


def trace(checkpoint: Checkpoint, kernels: Kernels, tokens: Sequence[int]) -> Trace:
    """Loads the model for the one pass."""
    spec = read_spec(checkpoint)
    seen: dict[str, F32] = {}

    def observe(name: str, array: F32) -> None:
        seen[name] = array.copy()

    weights = load(spec, checkpoint, kernels)
    decoder = Decoder(spec, weights, kernels, len(tokens), len(tokens), observe)
    decoder.forward(*_one_span(spec, tokens))
    return seen


def _one_span(
    spec: ModelSpec, tokens: Sequence[int]
) -> tuple[DecoderInputs, tuple[LayerCache, ...]]:
    """The prompt as a step of its own, over a cache that holds just it: row = position = slot."""
    rows = np.arange(len(tokens), dtype=np.int32)
    blocks = np.arange(-(-len(tokens) // BLOCK_TOKENS), dtype=np.int32)
    borders = np.array([0, len(tokens)], np.int32)
    batch = SpanBatch(borders, starts=np.zeros(1, np.int32), blocks=blocks[None])
    inputs = DecoderInputs(np.array(tokens, np.int32), rows, rows, batch, sample_rows=rows)

    def cache(kv_heads: int, head_dim: int) -> LayerCache:
        return LayerCache(
            np.zeros((len(blocks), kv_heads, head_dim, BLOCK_TOKENS), np.float16),
            np.zeros((len(blocks), kv_heads, BLOCK_TOKENS, head_dim), np.float16),
        )

    attentions = [layer.attention for layer in spec.layers]
    return inputs, tuple(cache(each.kv_heads, each.head_dim) for each in attentions)
