"""Whether new work is let in, and how much is inside: what a graceful shutdown needs to know."""

from collections.abc import Iterator
from contextlib import contextmanager


class Gate:
    def __init__(self) -> None:
        self.draining = False  # once true, nothing more is let in
        self.inside = 0

    @contextmanager
    def visit(self) -> Iterator[None]:
        self.inside += 1
        try:
            yield
        finally:
            self.inside -= 1
