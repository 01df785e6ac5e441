"""What each weight is called in a checkpoint: one table for GGUF, one for Hugging Face.

Keys are fields of `Weights` and `LayerWeights`; `{}` stands for the layer's number.
"""

from vilfredo.models.spec import ModelSpec

GGUF = {
    "embedding": "token_embd.weight",
    "norm": "output_norm.weight",
    "head": "output.weight",
    "attention_norm": "blk.{}.attn_norm.weight",
    "query": "blk.{}.attn_q.weight",
    "key": "blk.{}.attn_k.weight",
    "value": "blk.{}.attn_v.weight",
    "output": "blk.{}.attn_output.weight",
    "query_bias": "blk.{}.attn_q.bias",
    "key_bias": "blk.{}.attn_k.bias",
    "value_bias": "blk.{}.attn_v.bias",
    "query_norm": "blk.{}.attn_q_norm.weight",
    "key_norm": "blk.{}.attn_k_norm.weight",
    "post_attention_norm": "blk.{}.post_attention_norm.weight",
    "feed_forward_norm": "blk.{}.ffn_norm.weight",
    "gate": "blk.{}.ffn_gate.weight",
    "up": "blk.{}.ffn_up.weight",
    "down": "blk.{}.ffn_down.weight",
    "post_feed_forward_norm": "blk.{}.post_ffw_norm.weight",
}

HF = {
    "embedding": "model.embed_tokens.weight",
    "norm": "model.norm.weight",
    "head": "lm_head.weight",
    "attention_norm": "model.layers.{}.input_layernorm.weight",
    "query": "model.layers.{}.self_attn.q_proj.weight",
    "key": "model.layers.{}.self_attn.k_proj.weight",
    "value": "model.layers.{}.self_attn.v_proj.weight",
    "output": "model.layers.{}.self_attn.o_proj.weight",
    "query_bias": "model.layers.{}.self_attn.q_proj.bias",
    "key_bias": "model.layers.{}.self_attn.k_proj.bias",
    "value_bias": "model.layers.{}.self_attn.v_proj.bias",
    "query_norm": "model.layers.{}.self_attn.q_norm.weight",
    "key_norm": "model.layers.{}.self_attn.k_norm.weight",
    "feed_forward_norm": "model.layers.{}.post_attention_layernorm.weight",
    "gate": "model.layers.{}.mlp.gate_proj.weight",
    "up": "model.layers.{}.mlp.up_proj.weight",
    "down": "model.layers.{}.mlp.down_proj.weight",
}

# With norms on both sides, Hugging Face's "post_attention_layernorm" is what it says.
HF_POST_NORMS = {
    **HF,
    "post_attention_norm": "model.layers.{}.post_attention_layernorm.weight",
    "feed_forward_norm": "model.layers.{}.pre_feedforward_layernorm.weight",
    "post_feed_forward_norm": "model.layers.{}.post_feedforward_layernorm.weight",
}

# Not weights of the decoder: what families read themselves, and what follows from the config.
DERIVED = ("rope_freqs.weight", ".rotary_emb.inv_freq")


def names_of(spec: ModelSpec, number: int) -> dict[str, str]:
    """The names of one layer's weights, and of those outside the layers."""
    if spec.naming == "gguf":
        table = GGUF
    else:
        table = HF_POST_NORMS if spec.layers[number].post_norms else HF
    return {part: name.format(number) for part, name in table.items()}
