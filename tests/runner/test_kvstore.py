import numpy as np

from vilfredo.models.spec import Attention, FeedForward, Layer, ModelSpec, Rope
from vilfredo.runner.kvstore import KVStore


def test_a_layer_has_its_own_heads_and_costs_what_the_spec_says():
    def layer(kv_heads, head_dim):
        rope = Rope(10_000.0, head_dim)
        return Layer(Attention(4, kv_heads, head_dim, rope, 1.0), FeedForward(8, "silu"))

    spec = ModelSpec("llama", 32, 16, (layer(2, 8), layer(4, 6)), 1e-5, 64, True)
    store = KVStore.allocate(spec, blocks=3, block_tokens=16)
    assert [each.keys.shape for each in store.layers] == [(3, 2, 8, 16), (3, 4, 6, 16)]
    assert [each.values.shape for each in store.layers] == [(3, 2, 16, 8), (3, 4, 16, 6)]
    arrays = [array for each in store.layers for array in (each.keys, each.values)]
    assert all(array.dtype == np.float16 and not array.any() for array in arrays)
    assert sum(array.nbytes for array in arrays) == 3 * 16 * spec.kv_bytes_per_token
