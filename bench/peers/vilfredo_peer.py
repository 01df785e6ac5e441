"""Vilfredo's side of a measurement: the whole engine in one process, scheduling and sampling
included. The same protocol as the other peers': settings, then one measurement a line."""

import importlib.metadata
import json
import sys
import time

from vilfredo.base.clock import SystemClock
from vilfredo.base.settings import Settings
from vilfredo.core.request import Limits, Request, Sampling
from vilfredo.engine.assemble import assemble, build
from vilfredo.engine.engine import Engine


def main() -> None:
    settings = json.loads(sys.stdin.readline())
    prompt, count = tuple(settings["prompt"]), settings["tokens"]
    assembly = assemble(Settings(model=settings["model"], threads=settings["threads"]))
    engine = Engine(assembly.plan, build(assembly), SystemClock())
    version = importlib.metadata.version("vilfredo")
    print(json.dumps({"ready": f"Vilfredo {version} ({assembly.plan.table})"}), flush=True)
    for number, _ in enumerate(sys.stdin):
        # A tenant of its own for each run: nothing may come from the prefix cache.
        request = Request("r", prompt, Limits(count), Sampling(temperature=0.0), tenant=str(number))
        begin = time.perf_counter()
        engine.submit(request)
        tokens, first = [], None
        while engine.has_work:
            for delta in engine.step():
                tokens.extend(sampled.token for sampled in delta.tokens)
                first = first or time.perf_counter()
        end = time.perf_counter()
        assert first is not None
        answer = {
            "prefill": len(prompt) / (first - begin),
            "decode": (count - 1) / (end - first),
            "output": tokens,
        }
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
