"""The sizes that every decoder-only family states, from either kind of configuration."""

from dataclasses import dataclass

from vilfredo.base.errors import BadFile, Unsupported
from vilfredo.models.families.config import Config
from vilfredo.weights.checkpoint import Checkpoint

MOST_LAYERS = 1024


@dataclass(frozen=True, slots=True)
class Sizes:
    vocabulary: int
    width: int
    layers: int
    heads: int
    kv_heads: int
    head_dim: int
    hidden: int
    context: int
    norm_eps: float
    tied: bool  # the head is the embedding

    @property
    def attention(self) -> tuple[int, int, int]:
        return self.heads, self.kv_heads, self.head_dim


def read_gguf_sizes(checkpoint: Checkpoint, config: Config) -> Sizes:
    config.refuse("expert_count")
    embedding = checkpoint.tensor("token_embd.weight")
    if len(embedding.shape) != 2:
        raise BadFile(checkpoint.path, f"token_embd.weight has the shape {embedding.shape}")
    width = config.whole("embedding_length")
    heads = config.whole("attention.head_count")
    head_dim = config.whole("attention.key_length", _share(config, width, heads))
    for key in ("attention.value_length", "rope.dimension_count"):
        if (size := config.whole(key, head_dim)) != head_dim:
            raise Unsupported(f"{checkpoint.path}: {key} is {size} where a head has {head_dim}")
    return _checked(
        config,
        Sizes(
            vocabulary=embedding.shape[0],
            width=width,
            layers=config.whole("block_count", most=MOST_LAYERS),
            heads=heads,
            kv_heads=config.whole("attention.head_count_kv", heads),
            head_dim=head_dim,
            hidden=config.whole("feed_forward_length"),
            context=config.whole("context_length"),
            norm_eps=config.number("attention.layer_norm_rms_epsilon"),
            tied="output.weight" not in checkpoint.names(),
        ),
    )


def read_hf_sizes(config: Config, tied: bool = False) -> Sizes:
    """`tied` holds where nothing states it; the other defaults are transformers' for all three."""
    config.refuse("quantization_config")
    width = config.whole("hidden_size")
    heads = config.whole("num_attention_heads")
    return _checked(
        config,
        Sizes(
            vocabulary=config.whole("vocab_size"),
            width=width,
            layers=config.whole("num_hidden_layers", most=MOST_LAYERS),
            heads=heads,
            kv_heads=config.whole("num_key_value_heads", heads),
            head_dim=config.whole("head_dim", _share(config, width, heads)),
            hidden=config.whole("intermediate_size"),
            context=config.whole("max_position_embeddings"),
            norm_eps=config.number("rms_norm_eps", 1e-6),
            tied=config.flag("tie_word_embeddings", tied),
        ),
    )


def _share(config: Config, width: int, heads: int) -> int | None:
    """A head's dimension where nothing states it; None where the width does not divide."""
    return width // heads if width % heads == 0 else None


def _checked(config: Config, sizes: Sizes) -> Sizes:
    if sizes.heads % sizes.kv_heads:
        raise BadFile(
            config.path, f"{sizes.heads} heads cannot share {sizes.kv_heads} key-value heads"
        )
    if sizes.head_dim % 2:
        raise BadFile(config.path, f"a head of {sizes.head_dim} dimensions has no rotary pairs")
    return sizes
