"""What the machine can do at most, measured beside the engines: see limits.cpp."""

import json
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

from vilfredo.models.spec import ModelSpec


@dataclass(frozen=True, slots=True)
class Limits:
    """A second, all threads together. Zero where the processor lacks the unit."""

    read_bytes: float
    float_fma: float  # multiply-adds
    byte_dot: float
    tile_bytes: float
    tile_bfloats: float

    @property
    def multiply_adds(self) -> float:
        """Of the unit that multiplies most for what a model's weights are rounded to."""
        return max(self.byte_dot, self.tile_bytes)


def measure(threads: int) -> Limits:
    source = Path(__file__).with_name("limits.cpp")
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder) / "limits"
        options = ["-O3", "-std=c++20", "-march=native", "-pthread"]
        subprocess.run(["g++", *options, str(source), "-o", str(program)], check=True)
        said = subprocess.run([program, str(threads)], check=True, capture_output=True, text=True)
    return Limits(**json.loads(said.stdout))


def body_multiply_adds(spec: ModelSpec) -> int:
    """Multiply-adds of one token's matrix products, without the vocabulary head."""
    count = 0
    for layer in spec.layers:
        attention = layer.attention
        queries, keys = (
            attention.heads * attention.head_dim,
            attention.kv_heads * attention.head_dim,
        )
        count += spec.width * (2 * queries + 2 * keys + 3 * layer.feed_forward.hidden)
    return count
