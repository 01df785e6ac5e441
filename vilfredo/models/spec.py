"""A model as data: nested variants that one decoder runs, and the facts that follow from them."""

from dataclasses import dataclass
from typing import Literal

from vilfredo.ops.table import Activation


@dataclass(frozen=True, slots=True)
class Rope:
    """Rotary positions: angle[i] = position * theta^(-2i/dim) / factor(i).

    `factors` [dim / 2] divides each frequency (Llama 3's and linear scaling come to this); empty
    means 1 throughout.
    """

    theta: float
    dim: int  # the whole head: no supported family turns a part of it
    interleaved: bool = False
    factors: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True)
class Attention:
    heads: int
    kv_heads: int
    head_dim: int
    rope: Rope
    scale: float
    window: int = 0  # 0: sees everything before it
    softcap: float = 0.0
    bias: bool = False  # on q, k and v
    qk_norm: bool = False


@dataclass(frozen=True, slots=True)
class FeedForward:
    hidden: int
    activation: Activation


@dataclass(frozen=True, slots=True)
class Layer:
    attention: Attention
    feed_forward: FeedForward
    post_norms: bool = False  # norms also after attention and feed-forward, before the residual


@dataclass(frozen=True, slots=True)
class ModelSpec:
    """`norm_offset` is added to every norm weight when it is loaded (Gemma stores w - 1)."""

    family: str
    vocabulary: int
    width: int
    layers: tuple[Layer, ...]
    norm_eps: float
    context: int
    tied_head: bool
    embed_scale: float = 1.0
    norm_offset: float = 0.0
    logit_softcap: float = 0.0
    naming: Literal["gguf", "hf"] = "gguf"

    @property
    def kv_bytes_per_token(self) -> int:
        """Bytes of float16 keys and values that one token holds over all layers."""
        return sum(4 * layer.attention.kv_heads * layer.attention.head_dim for layer in self.layers)
