"""The one shape of every runner: local, fake, later captured or remote."""

from typing import Protocol

from vilfredo.core.step import Result, Step


class Runner(Protocol):
    def launch(self, step: Step) -> tuple[Result, ...]:
        """Computes the step; one result a span, in the spans' order. Never schedules."""
        ...

    def forget(self, request_id: str) -> None:
        """Drops what the runner keeps for a sequence (sampler state); unknown ids are ignored."""
        ...
