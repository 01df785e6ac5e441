"""Qwen2 and Qwen2.5: Llama's layer with biases on q, k and v."""

from vilfredo.models.families.config import Config
from vilfredo.models.families.llama import plain_decoder
from vilfredo.models.families.ropes import read_gguf_rope, read_hf_rope
from vilfredo.models.families.sizes import read_gguf_sizes, read_hf_sizes
from vilfredo.models.spec import ModelSpec
from vilfredo.weights.checkpoint import Checkpoint


def read(checkpoint: Checkpoint) -> ModelSpec:
    if checkpoint.kind == "gguf":
        config = Config.of(checkpoint, "qwen2.")
        sizes = read_gguf_sizes(checkpoint, config)
        rope = read_gguf_rope(checkpoint, config, sizes.head_dim)
    else:
        config = Config.of(checkpoint)
        config.refuse("use_sliding_window")
        config.expect("hidden_act", "silu")
        sizes = read_hf_sizes(config)
        rope = read_hf_rope(config, sizes.head_dim)
    return plain_decoder("qwen2", checkpoint, sizes, rope, bias=True)
