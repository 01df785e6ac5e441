"""What every peer's process does: take sequences in, move them on, and say how long each took.

One JSON line of settings comes first, and the peer answers with its name. Then each line is one
of {"begin": {"prompts", "tokens", "copies"}}, {"advance": steps} and {"end": true}. All sequences
of a batch decode in step, so that any stretch of steps is a sound measurement: the caller lets
one peer run some steps, then the next. Uses only the standard library: it runs in the
environments of the peers.
"""

import json
import sys
import time
from collections.abc import Callable
from typing import Any, Protocol


class Engine(Protocol):
    name: str

    def prepare(self, prompts: list[list[int]], tokens: int, copies: bool) -> None:
        """Whatever a server would have done before these sequences came: not measured.

        `tokens` is how many each sequence will be given in all. With `copies`, the prompts are all
        the same, and an engine may compute it once."""
        ...

    def prefill(self) -> None:
        """Takes in the prompts, until each sequence has its first token."""
        ...

    def step(self) -> None:
        """Gives each sequence its next token."""
        ...

    def end(self) -> list[list[int]]:
        """Frees the sequences and gives what was generated."""
        ...


def serve(create: Callable[[dict[str, Any]], Engine]) -> None:
    engine = create(json.loads(sys.stdin.readline()))
    _answer({"ready": engine.name})
    for line in sys.stdin:
        question = json.loads(line)
        if "begin" in question:
            engine.prepare(**question["begin"])
            _answer({"seconds": _time(engine.prefill, 1)})
        elif "advance" in question:
            _answer({"seconds": _time(engine.step, question["advance"])})
        else:
            _answer({"output": engine.end()})


def _time(run: Callable[[], None], times: int) -> float:
    begin = time.perf_counter()
    for _ in range(times):
        run()
    return time.perf_counter() - begin


def _answer(answer: dict[str, Any]) -> None:
    print(json.dumps(answer), flush=True)
