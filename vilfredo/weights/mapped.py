"""A file as memory: read when it is touched, and never written."""

import mmap
from pathlib import Path

from vilfredo.base.errors import BadFile


def map_file(path: Path) -> mmap.mmap:
    """Raises BadFile where the file is empty or cannot be read."""
    try:
        with path.open("rb") as file:
            return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    except ValueError:
        raise BadFile(path, "is empty", 0) from None
    except OSError as error:
        raise BadFile(path, str(error.strerror)) from error


def release(data: mmap.mmap) -> None:
    """Gives back the pages that were read, which count as this process's memory; the file's cache
    keeps them as long as there is room."""
    if hasattr(mmap, "MADV_DONTNEED"):
        data.madvise(mmap.MADV_DONTNEED)
