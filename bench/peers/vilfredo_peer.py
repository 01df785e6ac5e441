"""Vilfredo's side of a measurement: the whole engine in this process, scheduling and sampling
included."""

import importlib.metadata
from typing import Any

from serve import serve

from vilfredo.base.clock import SystemClock
from vilfredo.base.settings import Settings
from vilfredo.core.request import Limits, Request, Sampling
from vilfredo.engine.assemble import assemble, build
from vilfredo.engine.engine import Engine


class Vilfredo:
    def __init__(self, settings: dict[str, Any]) -> None:
        assembly = assemble(Settings(model=settings["model"], threads=settings["threads"]))
        self._engine = Engine(assembly.plan, build(assembly), SystemClock())
        version = importlib.metadata.version("vilfredo")
        self.name = f"Vilfredo {version} ({assembly.plan.table})"
        self._requests = 0

    def prepare(self, prompts: list[list[int]], tokens: int, copies: bool) -> None:
        self._outputs: dict[str, list[int]] = {}
        self._asked = []
        for prompt in prompts:
            # A tenant of its own for each: nothing comes from the prefix cache, not even copies.
            name = str(self._requests)
            self._requests += 1
            self._outputs[name] = []
            self._asked.append(
                Request(name, tuple(prompt), Limits(tokens), Sampling(temperature=0.0), tenant=name)
            )

    def prefill(self) -> None:
        for request in self._asked:
            assert self._engine.submit(request) is None
        while not all(self._outputs.values()):
            self.step()

    def step(self) -> None:
        for delta in self._engine.step():
            self._outputs[delta.id].extend(sampled.token for sampled in delta.tokens)

    def end(self) -> list[list[int]]:
        for name in self._outputs:
            self._engine.cancel(name)
        return list(self._outputs.values())


if __name__ == "__main__":
    serve(Vilfredo)
