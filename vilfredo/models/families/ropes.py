"""Rotary positions from either kind of configuration; every scaling comes to one factor a pair."""

import math

import numpy as np

from vilfredo.base.errors import BadFile, Unsupported
from vilfredo.base.quants import dequantize
from vilfredo.models.families.config import Config
from vilfredo.models.spec import Rope
from vilfredo.weights.checkpoint import Checkpoint

THETA = 10000.0  # where nothing states it: Su et al. 2021, and every loader's default
FREQUENCY_FACTORS = "rope_freqs.weight"  # how GGUF carries Llama 3's scaling


def read_gguf_rope(
    checkpoint: Checkpoint,
    config: Config,
    dim: int,
    interleaved: bool = False,
    theta: float = THETA,
) -> Rope:
    """`theta` holds where nothing states it."""
    theta = config.number("rope.freq_base", theta)
    if FREQUENCY_FACTORS in checkpoint.names():
        raw = checkpoint.tensor(FREQUENCY_FACTORS)
        factors = dequantize(raw).reshape(-1)
        if len(factors) != dim // 2 or not np.all(np.isfinite(factors) & (factors > 0)):
            reason = f"{FREQUENCY_FACTORS} must hold {dim // 2} positive numbers"
            raise BadFile(checkpoint.path, reason)
        return Rope(theta, dim, interleaved, tuple(factors.tolist()))
    match config.text("rope.scaling.type", "none"):
        case "none":
            return Rope(theta, dim, interleaved)
        case "linear":
            factor = config.number("rope.scaling.factor")
            return Rope(theta, dim, interleaved, (factor,) * (dim // 2))
        case other:
            raise Unsupported(f"{checkpoint.path}: rope scaling of the type {other!r}")


def read_hf_rope(config: Config, dim: int, theta: float = THETA) -> Rope:
    """From `rope_parameters`, or as it was spelled before: `rope_theta` and `rope_scaling`."""
    config.expect("partial_rotary_factor", 1)
    new = config.has("rope_parameters")
    parameters = config.section("rope_parameters" if new else "rope_scaling")
    return scaled_hf_rope(parameters, dim, config.number("rope_theta", theta))


def scaled_hf_rope(parameters: Config, dim: int, theta: float) -> Rope:
    """`theta` holds where the parameters state none."""
    parameters.expect("partial_rotary_factor", 1)
    theta = parameters.number("rope_theta", theta)
    match parameters.text("rope_type", parameters.text("type", "default")):
        case "default":
            return Rope(theta, dim)
        case "linear":
            return Rope(theta, dim, factors=(parameters.number("factor"),) * (dim // 2))
        case "llama3":
            return Rope(theta, dim, factors=_llama3_factors(parameters, theta, dim))
        case other:
            raise Unsupported(f"{parameters.path}: rope scaling of the type {other!r}")


def _llama3_factors(parameters: Config, theta: float, dim: int) -> tuple[float, ...]:
    """Llama 3.1's: short waves stay, long ones are slowed by `factor`, between them by a blend."""
    factor = parameters.number("factor")
    low, high = parameters.number("low_freq_factor"), parameters.number("high_freq_factor")
    if low >= high:
        raise parameters.bad("high_freq_factor", f"must be above low_freq_factor, {low}")
    original = parameters.whole("original_max_position_embeddings")
    factors: list[float] = []
    for pair in range(dim // 2):
        wave = 2 * math.pi * theta ** (2 * pair / dim)  # tokens a turn
        kept = min(1.0, max(0.0, (original / wave - low) / (high - low)))  # 1: short, 0: long
        factors.append(1 / ((1 - kept) / factor + kept))
    return tuple(factors)
