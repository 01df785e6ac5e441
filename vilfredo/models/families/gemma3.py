"""Gemma 3 (text): five layers that see a window, then one that sees all; QK norms, post norms."""

from dataclasses import replace

from vilfredo.models.families.config import Config
from vilfredo.models.families.ropes import read_gguf_rope, read_hf_rope, scaled_hf_rope
from vilfredo.models.families.sizes import Sizes, read_gguf_sizes, read_hf_sizes
from vilfredo.models.families.windows import read_windowed
from vilfredo.models.spec import Attention, FeedForward, Layer, ModelSpec, Rope
from vilfredo.weights.checkpoint import Checkpoint

NEAR_THETA = 10_000.0  # of layers that see a window, where nothing states it
FAR_THETA = 1_000_000.0
LAYERS_OF_27B = 62  # the one size whose scores are not scaled by its head's dimension


def read(checkpoint: Checkpoint) -> ModelSpec:
    gguf = checkpoint.kind == "gguf"
    config = Config.of(checkpoint, "gemma3." if gguf else "")
    sizes = read_gguf_sizes(checkpoint, config) if gguf else read_hf_sizes(config, tied=True)
    far, near = _gguf_attention(checkpoint, config, sizes) if gguf else _hf_attention(config, sizes)
    feed_forward = FeedForward(sizes.hidden, "gelu_tanh")
    sees_all, sees_window = (Layer(each, feed_forward, post_norms=True) for each in (far, near))
    windowed = read_windowed(config, "attention." if gguf else "", sizes.layers)
    capped = config.has("final_logit_softcapping")
    return ModelSpec(
        family="gemma3",
        vocabulary=sizes.vocabulary,
        width=sizes.width,
        layers=tuple(sees_window if each else sees_all for each in windowed),
        norm_eps=sizes.norm_eps,
        context=sizes.context,
        tied_head=sizes.tied,
        # In float32, as all is computed here; transformers rounds it to the type of the weights.
        embed_scale=sizes.width**0.5,
        norm_offset=0.0 if gguf else 1.0,  # the conversion to GGUF has added the one
        logit_softcap=config.number("final_logit_softcapping") if capped else 0.0,
        naming=checkpoint.kind,
    )


def _gguf_attention(
    checkpoint: Checkpoint, config: Config, sizes: Sizes
) -> tuple[Attention, Attention]:
    """Of layers that see all, and of those that see a window."""
    scaled = sizes.width // sizes.heads if sizes.layers == LAYERS_OF_27B else sizes.head_dim
    rope = read_gguf_rope(checkpoint, config, sizes.head_dim, theta=FAR_THETA)
    far = Attention(*sizes.attention, rope, scaled**-0.5, qk_norm=True)
    near = Rope(config.number("rope.freq_base_swa", NEAR_THETA), sizes.head_dim)
    return far, replace(far, rope=near, window=config.whole("attention.sliding_window"))


def _hf_attention(config: Config, sizes: Sizes) -> tuple[Attention, Attention]:
    for key in ("attention_bias", "use_bidirectional_attention", "attn_logit_softcapping"):
        config.refuse(key)
    config.expect("hidden_activation", "gelu_pytorch_tanh")
    if config.has("rope_parameters"):
        ropes = config.section("rope_parameters")
        rope = scaled_hf_rope(ropes.section("full_attention"), sizes.head_dim, FAR_THETA)
        near = scaled_hf_rope(ropes.section("sliding_attention"), sizes.head_dim, NEAR_THETA)
    else:
        rope = read_hf_rope(config, sizes.head_dim, theta=FAR_THETA)
        near = Rope(config.number("rope_local_base_freq", NEAR_THETA), sizes.head_dim)
    scale = config.number("query_pre_attn_scalar", sizes.head_dim) ** -0.5
    far = Attention(*sizes.attention, rope, scale, qk_norm=True)
    return far, replace(far, rope=near, window=config.whole("sliding_window"))
