"""Llama 1 to 3 and all that follow it to the letter (SmolLM2, TinyLlama)."""

from vilfredo.models.families.config import Config
from vilfredo.models.families.ropes import read_gguf_rope, read_hf_rope
from vilfredo.models.families.sizes import Sizes, read_gguf_sizes, read_hf_sizes
from vilfredo.models.spec import Attention, FeedForward, Layer, ModelSpec, Rope
from vilfredo.weights.checkpoint import Checkpoint


def read(checkpoint: Checkpoint) -> ModelSpec:
    if checkpoint.kind == "gguf":
        config = Config.of(checkpoint, "llama.")
        sizes = read_gguf_sizes(checkpoint, config)
        # The conversion to GGUF reorders the rows of q and k, so that pairs lie side by side.
        rope = read_gguf_rope(checkpoint, config, sizes.head_dim, interleaved=True)
    else:
        config = Config.of(checkpoint)
        config.refuse("attention_bias")
        config.refuse("mlp_bias")
        config.expect("hidden_act", "silu")
        sizes = read_hf_sizes(config)
        rope = read_hf_rope(config, sizes.head_dim)
    return plain_decoder("llama", checkpoint, sizes, rope)


def plain_decoder(
    family: str, checkpoint: Checkpoint, sizes: Sizes, rope: Rope, bias: bool = False
) -> ModelSpec:
    """The layer that Llama set: the same attention throughout, a SiLU gate, norms before each."""
    attention = Attention(*sizes.attention, rope, scale=sizes.head_dim**-0.5, bias=bias)
    return ModelSpec(
        family=family,
        vocabulary=sizes.vocabulary,
        width=sizes.width,
        layers=(Layer(attention, FeedForward(sizes.hidden, "silu")),) * sizes.layers,
        norm_eps=sizes.norm_eps,
        context=sizes.context,
        tied_head=sizes.tied,
        naming=checkpoint.kind,
    )
