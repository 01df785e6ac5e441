"""The memory behind KV blocks: paged arrays of keys and values. Never knows whose a block is."""

from dataclasses import dataclass

import numpy as np

from vilfredo.models.spec import ModelSpec
from vilfredo.ops.table import LayerCache


@dataclass(frozen=True, slots=True)
class KVStore:
    block_tokens: int
    layers: tuple[LayerCache, ...]

    @classmethod
    def allocate(cls, spec: ModelSpec, blocks: int, block_tokens: int) -> "KVStore":
        """Zeroed pages come from the operating system when first written: a large store costs
        address space at first, and memory only as far as it is used."""

        def layer(kv_heads: int, head_dim: int) -> LayerCache:
            return LayerCache(
                keys=np.zeros((blocks, kv_heads, head_dim, block_tokens), np.float16),
                values=np.zeros((blocks, kv_heads, block_tokens, head_dim), np.float16),
            )

        attentions = (each.attention for each in spec.layers)
        return cls(block_tokens, tuple(layer(a.kv_heads, a.head_dim) for a in attentions))
