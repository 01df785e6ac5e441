"""The state of engines that follow each other, as if they were one: counters never go back."""

from msgspec.structs import replace

from vilfredo.engine.messages import Stats


class Totals:
    def __init__(self, blocks_total: int) -> None:
        self.now = Stats(blocks_total=blocks_total)
        self._before = self.now  # counters of the engines that died

    def take(self, stats: Stats) -> None:
        before = self._before
        self.now = replace(
            stats,
            steps=before.steps + stats.steps,
            prefix_queries=before.prefix_queries + stats.prefix_queries,
            prefix_hits=before.prefix_hits + stats.prefix_hits,
            preemptions=before.preemptions + stats.preemptions,
        )

    def engine_died(self) -> None:
        """Nothing runs, waits or holds blocks in an engine that is gone."""
        self._before = replace(self.now, running=0, waiting=0, waiting_tokens=0, blocks_used=0)
        self.now = self._before
