"""All matrices of a model in one piece of memory, packed now or read as an earlier start left them.

One piece, because matrices of their own, when small, would not lie in huge pages.
"""

from collections.abc import Sequence

from vilfredo.base.tensor import RawTensor
from vilfredo.models.spec import ModelSpec
from vilfredo.models.tensors import matrices
from vilfredo.models.weights import Weights, load
from vilfredo.ops.table import U8, Kernels, Packed, Packing
from vilfredo.weights.checkpoint import Checkpoint
from vilfredo.weights.identity import identify
from vilfredo.weights.packedcache import PackedCache, Stored, pack_in_memory
from vilfredo.weights.packedfile import Origin, Place

ALIGNMENT = 64  # bytes


def load_packed(
    spec: ModelSpec, checkpoint: Checkpoint, kernels: Kernels, cache: PackedCache | None
) -> Weights:
    """As `load`, with the cache; without one, or with a table that has no layout, it packs.

    The checkpoint's own pages are given back: beside the packed weights, one matrix's at most are
    in memory.
    """
    if kernels.packing is None:
        return load(spec, checkpoint, kernels)
    packing, tensors = kernels.packing, tuple(matrices(spec, checkpoint))
    origin = _origin(checkpoint, packing, tensors)

    def fill(memory: U8) -> tuple[float, ...]:
        gains: list[float] = []
        for tensor, place in zip(tensors, origin.places, strict=True):
            gains.append(packing.pack(tensor, _part(memory, place)))
            checkpoint.release()
        return tuple(gains)

    stored = cache.find_or_pack(origin, fill) if cache else pack_in_memory(origin, fill)
    weights = load(spec, checkpoint, _Opener(packing, origin, stored))
    checkpoint.release()
    return weights


class _Opener:
    """Gives each matrix from where it lies in the memory."""

    def __init__(self, packing: Packing, origin: Origin, stored: Stored) -> None:
        self._packing = packing
        self._memory = stored.memory
        pairs = zip(origin.places, stored.gains, strict=True)
        self._places = {place.name: (place, gain) for place, gain in pairs}

    def pack(self, tensor: RawTensor) -> Packed:
        place, gain = self._places[tensor.name]
        return self._packing.open(tensor, gain, _part(self._memory, place))


def _origin(checkpoint: Checkpoint, packing: Packing, tensors: Sequence[RawTensor]) -> Origin:
    places: list[Place] = []
    end = 0
    for tensor in tensors:
        size = packing.size(tensor)
        places.append(Place(tensor.name, tensor.format, tensor.shape, end, size))
        end += -(-size // ALIGNMENT) * ALIGNMENT
    return Origin(
        source=str(checkpoint.path.resolve()),
        identity=identify(checkpoint.files),
        layout=packing.layout,
        version=packing.version,
        places=tuple(places),
        size=end,
    )


def _part(memory: U8, place: Place) -> U8:
    return memory[place.offset : place.offset + place.size]
