"""A weight as it lies in a checkpoint: a format, a shape and bytes that may be memory-mapped."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class RawTensor:
    """`shape` is row-major, outermost first ([rows, columns] for a matrix: out, in).

    `data` is one-dimensional uint8; a quantized row is a whole number of blocks, and rows follow
    each other without padding. `format` is a key of `vilfredo.base.quants.FORMATS`.
    """

    name: str
    format: str
    shape: tuple[int, ...]
    data: NDArray[np.uint8]
