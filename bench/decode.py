"""Prefill and decode of one sequence beside llama.cpp: same file, same token ids, same threads.

    python bench/decode.py [--model NAME ...] [--runs N] --peer-python ENV/bin/python

The peers run in processes of their own and take turns, so that what disturbs the machine disturbs
both; the figures are medians. `make bench` makes the peer's environment first. The compiler builds
llama.cpp for the machine it is on; where that build dies of an illegal instruction, as on some
virtual machines, name the instruction sets in CMAKE_ARGS (see llama.cpp's GGML_NATIVE).
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
from pathlib import Path

from vilfredo.weights.catalog import CATALOG
from vilfredo.weights.store import ModelStore

HERE = Path(__file__).parent
MODELS = ("smollm2-135m",)


class Peer:
    def __init__(self, python: str, script: str, settings: dict) -> None:
        self._process = subprocess.Popen(
            [python, str(HERE / "peers" / script)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self.name = self._ask(settings)["ready"]
        self.measure()  # the first run pays for what later ones have

    def measure(self) -> dict:
        return self._ask("measure")

    def _ask(self, question: object) -> dict:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(question) + "\n")
        self._process.stdin.flush()
        for line in self._process.stdout:
            if line.startswith("{"):
                return json.loads(line)
        raise SystemExit(f"a peer ended: {' '.join(self._process.args)}")  # type: ignore[arg-type]

    def end(self) -> None:
        self._process.communicate()


def compare(model: str, arguments: argparse.Namespace) -> None:
    path = ModelStore.default().find(CATALOG[model])
    if path is None:
        raise SystemExit(f"{model} is not in the cache: run `vilfredo pull {model}`")
    settings = {
        "model": str(path),
        "prompt": [1000 + 7 * place % 5000 for place in range(arguments.prompt)],
        "tokens": arguments.tokens,
        "threads": arguments.threads,
    }
    peers = [
        Peer(sys.executable, "vilfredo_peer.py", settings),
        Peer(arguments.peer_python, "llama_cpp_peer.py", settings),
    ]
    runs = [[peer.measure() for peer in peers] for _ in range(arguments.runs)]
    print(
        f"\n{model}: prompt of {arguments.prompt}, {arguments.tokens} tokens, "
        f"{arguments.threads} threads, medians of {arguments.runs} alternating runs\n"
    )
    print(f"| tokens/s | {' | '.join(peer.name for peer in peers)} | ratio |")
    print("|---|---|---|---|")
    for figure in ("prefill", "decode"):
        columns = [[run[index][figure] for run in runs] for index in range(len(peers))]
        cells = [
            f"{statistics.median(values):.1f} ({min(values):.1f} to {max(values):.1f})"
            for values in columns
        ]
        ratio = statistics.median(columns[0]) / statistics.median(columns[1])
        print(f"| {figure} | {' | '.join(cells)} | {ratio:.2f} |")
    for peer in peers:
        peer.end()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--model", action="append", choices=CATALOG)
    parser.add_argument("--prompt", type=int, default=128, help="tokens of the prompt")
    parser.add_argument("--tokens", type=int, default=128, help="tokens to generate")
    parser.add_argument("--threads", type=int, default=min(2, os.cpu_count() or 1))
    parser.add_argument("--runs", type=int, default=7)
    parser.add_argument("--peer-python", required=True, help="a Python with llama-cpp-python")
    arguments = parser.parse_args()
    for model in arguments.model or MODELS:
        compare(model, arguments)


if __name__ == "__main__":
    main()
