"""Random weights in every format: bytes as a checkpoint could hold them, without an encoder."""

import numpy as np

from vilfredo.base.quants import FORMATS
from vilfredo.base.tensor import RawTensor

# Where a block holds its float16 scales; all other bytes of a block may be anything at all.
SCALES = {
    "Q4_0": (0,),
    "Q4_1": (0, 2),
    "Q5_0": (0,),
    "Q5_1": (0, 2),
    "Q8_0": (0,),
    "Q4_K": (0, 2),
    "Q5_K": (0, 2),
    "Q6_K": (208,),
}
DENSE = ("F32", "F16", "BF16")


def random_weight(
    random: np.random.Generator, format: str, rows: int, blocks: int, byte: int | None = None
) -> RawTensor:
    """A [rows, columns] weight of `blocks` blocks a row; `byte` fills the codes, so that they and
    their sums are as large as they get."""
    if format in DENSE:
        return _dense(random.standard_normal((rows, 32 * blocks), np.float32), format)
    form = FORMATS[format]
    data = random.integers(0, 256, (rows, blocks, form.nbytes), np.uint8)
    if byte is not None:
        data[:] = byte
    for place in SCALES[format]:
        scale = random.uniform(0.002, 0.02, (rows, blocks)).astype(np.float16)
        data[:, :, place : place + 2] = scale.view(np.uint8).reshape(rows, blocks, 2)
    columns = blocks * form.elements
    return RawTensor(f"random {format}", format, (rows, columns), data.reshape(-1))


def _dense(values: np.ndarray, format: str) -> RawTensor:
    match format:
        case "BF16":
            stored = (values.view(np.uint32) >> 16).astype(np.uint16)
        case "F16":
            stored = values.astype(np.float16)
        case _:
            stored = values
    data = stored.reshape(-1).view(np.uint8)
    return RawTensor(f"random {format}", format, values.shape, data)
