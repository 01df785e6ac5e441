"""What is measured: a column of the report is one shape of work, the same for every engine."""

from dataclasses import dataclass
from random import Random

BUDGET = 512  # tokens that each engine computes at once
LEAST, MOST = 1_000, 40_000  # ordinary words in every vocabulary here


@dataclass(frozen=True, slots=True)
class Column:
    """`passes` batches with new prompts; in each, `windows` stretches of `steps` decoding steps
    that the engines run in turns. No windows: the prompt itself is what is measured."""

    name: str
    sequences: int
    prompt: int  # tokens
    passes: int
    windows: int = 0
    steps: int = 12
    copies: bool = False  # every sequence has the same prompt

    @property
    def tokens(self) -> int:
        """That each sequence may be given. Engines that go on with the first sequences while they
        take in the last need some to spare."""
        intake = -(-self.sequences * self.prompt // (BUDGET - self.sequences))
        return WARMING + self.windows * self.steps + intake + 8

    def prompts(self, random: Random) -> list[list[int]]:
        """Token ids that no engine has seen, so that none can have kept what follows from them."""

        def prompt() -> list[int]:
            return [random.randrange(LEAST, MOST) for _ in range(self.prompt)]

        if self.copies:
            return [prompt()] * self.sequences
        return [prompt() for _ in range(self.sequences)]


WARMING = 2  # steps before the first window

COLUMNS = (
    Column("prefill 512", sequences=1, prompt=512, passes=5),
    Column("B=1", sequences=1, prompt=32, passes=2, windows=5),
    Column("B=8", sequences=8, prompt=32, passes=1, windows=5),
    Column("B=16", sequences=16, prompt=32, passes=1, windows=5),
    Column("B=32", sequences=32, prompt=32, passes=1, windows=5),
    Column("B=1 at 4,096", sequences=1, prompt=4096, passes=1, windows=5),
    Column("B=8 at 4,096", sequences=8, prompt=4096, passes=1, windows=5, copies=True),
)
