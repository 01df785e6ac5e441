"""What a pull tells of its way: bytes done, bytes in all, and what it is doing."""

import contextlib
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Protocol


class Progress(Protocol):
    def __call__(self, done: int, total: int, label: str) -> None: ...


def silent(done: int, total: int, label: str) -> None:
    """For those who do not want to know."""


@contextlib.contextmanager
def watched(
    folder: Path, total: int, label: str, progress: Progress, seconds: float = 0.2
) -> Iterator[None]:
    """Tells how many bytes lie in a folder while a tool that says nothing itself fills it."""
    over = threading.Event()

    def watch() -> None:
        while not over.wait(seconds):
            progress(min(total, bytes_in(folder)), total, label)

    progress(min(total, bytes_in(folder)), total, label)
    thread = threading.Thread(target=watch, name="vilfredo-pull-progress", daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def bytes_in(folder: Path) -> int:
    """Files may come and go while they are counted."""
    total = 0
    for path in folder.rglob("*"):
        with contextlib.suppress(OSError):
            total += path.lstat().st_size if path.is_file() else 0
    return total
