"""Engines in turns over one column: what disturbs the machine disturbs all of them."""

import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

from bench.columns import WARMING, Column
from bench.peer import Peer, say


@dataclass(frozen=True, slots=True)
class Rates:
    """Tokens a second of one engine in one column, over all sequences."""

    values: tuple[float, ...]

    @property
    def median(self) -> float:
        return statistics.median(self.values)


def compare(column: Column, peers: Sequence[Peer], random: Random) -> dict[str, Rates]:
    """Rates by the peer's name. The first prefill is not counted: it pays for later ones."""
    values: dict[str, list[float]] = {peer.name: [] for peer in peers}
    warming = 0 if column.windows else 1
    for number in range(column.passes + warming):
        prompts = column.prompts(random)
        turns = rotated(peers, number)
        for peer in turns:
            seconds = peer.begin(column, prompts)
            if not column.windows and number >= warming:
                values[peer.name].append(column.prompt * column.sequences / seconds)
        for peer in turns if column.windows else ():
            peer.advance(WARMING)
        for window in range(column.windows):
            for peer in rotated(peers, number + window):
                seconds = peer.advance(column.steps)
                values[peer.name].append(column.sequences * column.steps / seconds)
        for peer in peers:
            peer.end()
    rates = {name: Rates(tuple(each)) for name, each in values.items()}
    say(f"  {column.name}: " + ", ".join(f"{n} {r.median:.1f}" for n, r in rates.items()))
    return rates


def rotated(peers: Sequence[Peer], turn: int) -> list[Peer]:
    """Everyone goes first in some turn."""
    turn %= len(peers)
    return [*peers[turn:], *peers[:turn]]
