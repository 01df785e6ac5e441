"""The matrices that a spec asks of a checkpoint, and whether it has them so."""

from collections.abc import Iterator

from vilfredo.base.errors import BadFile
from vilfredo.base.tensor import RawTensor
from vilfredo.models.names import names_of
from vilfredo.models.spec import Layer, ModelSpec
from vilfredo.weights.checkpoint import Checkpoint

Shapes = dict[str, tuple[int, int]]  # by field of `Weights` or `LayerWeights`: [rows, columns]


def outer_matrices(spec: ModelSpec) -> Shapes:
    """Those outside the layers; a tied head is the embedding."""
    parts = ("embedding",) if spec.tied_head else ("embedding", "head")
    return dict.fromkeys(parts, (spec.vocabulary, spec.width))


def layer_matrices(spec: ModelSpec, layer: Layer) -> Shapes:
    attention, hidden, width = layer.attention, layer.feed_forward.hidden, spec.width
    queries = attention.heads * attention.head_dim
    keys = attention.kv_heads * attention.head_dim
    return {
        "query": (queries, width),
        "key": (keys, width),
        "value": (keys, width),
        "output": (width, queries),
        "gate": (hidden, width),
        "up": (hidden, width),
        "down": (width, hidden),
    }


def matrices(spec: ModelSpec, checkpoint: Checkpoint) -> Iterator[RawTensor]:
    """All of them, the largest first. Raises BadFile as `checked_tensor` does."""
    for part, shape in outer_matrices(spec).items():
        yield checked_tensor(checkpoint, names_of(spec, 0)[part], shape)
    for number, layer in enumerate(spec.layers):
        names = names_of(spec, number)
        for part, shape in layer_matrices(spec, layer).items():
            yield checked_tensor(checkpoint, names[part], shape)


def checked_tensor(checkpoint: Checkpoint, name: str, shape: tuple[int, ...]) -> RawTensor:
    """Raises BadFile for a tensor that is missing or of another shape than the spec's."""
    if name not in checkpoint.names():
        raise BadFile(checkpoint.path, f"has no tensor {name}")
    raw = checkpoint.tensor(name)
    if raw.shape != shape:
        raise BadFile(
            checkpoint.path,
            f"{name} has the shape {raw.shape}, but its configuration asks for {shape}",
        )
    return raw
