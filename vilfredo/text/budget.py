"""What one rendering of a template may cost; counts, and knows no clock."""

from typing import Self

from jinja2.exceptions import SecurityError
from jinja2.runtime import Context

STEPS = 300_000  # loop turns and calls
CHARACTERS = 16_000_000  # of everything that is put together on the way


class Budget:
    # A context variable under a name that no template can spell.
    KEY = "the budget"

    def __init__(self, steps: int = STEPS, characters: int = CHARACTERS) -> None:
        self._steps = steps
        self._characters = characters

    @classmethod
    def of(cls, context: Context) -> Self:
        return context.parent[cls.KEY]

    def step(self) -> None:
        self._steps -= 1
        if self._steps < 0:
            raise SecurityError("it takes too many steps")

    def write(self, characters: int) -> None:
        self._characters -= characters
        if self._characters < 0:
            raise SecurityError("it makes too much text")
