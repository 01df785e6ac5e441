"""Vilfredo beside llama.cpp and OpenVINO GenAI, in one run: `make bench`.

    python -m bench --peer-python ENV/bin/python [--model NAME ...] [--threads N]

Writes bench/report.md and docs/charts/MODEL.svg. Each engine runs in a process of its own; they
take turns, so that what disturbs the machine disturbs all.
"""

import argparse
import sys
from pathlib import Path
from random import Random

from bench.chart import chart
from bench.columns import COLUMNS
from bench.compare import Rates, compare
from bench.limits import body_multiply_adds, measure
from bench.peer import Peer, PeerDied, say
from bench.report import Measured, report
from vilfredo.base.machine import this_machine
from vilfredo.models.families import read_spec
from vilfredo.models.weights import load
from vilfredo.ops.choose import choose
from vilfredo.weights.catalog import CATALOG
from vilfredo.weights.open import open_checkpoint
from vilfredo.weights.store import ModelStore

HERE = Path(__file__).parent
MODELS = ("smollm2-135m", "qwen2.5-coder-1.5b", "qwen2.5-coder-0.5b", "gemma3-270m")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--model", action="append", choices=CATALOG, help="default: four of them")
    parser.add_argument("--threads", type=int, default=this_machine().cores)
    parser.add_argument("--peer-python", required=True, help="a Python with both peers")
    parser.add_argument("--column", action="append", choices=[each.name for each in COLUMNS])
    arguments = parser.parse_args()
    limits = measure(arguments.threads)
    measured = [compared(model, arguments) for model in arguments.model or MODELS]
    command = "make bench"
    (HERE / "report.md").write_text(report(measured, limits, arguments.threads, command))
    charts = HERE.parent / "docs" / "charts"
    charts.mkdir(exist_ok=True)
    for each in measured:
        (charts / f"{each.model}.svg").write_text(chart(each))
    print((HERE / "report.md").read_text())


def compared(model: str, arguments: argparse.Namespace) -> Measured:
    path = ModelStore.default().find(CATALOG[model])
    if path is None:
        raise SystemExit(f"{model} is not in the cache: run `vilfredo pull {model}`")
    say(model)
    settings = {"model": str(path), "threads": arguments.threads}
    peers = [Peer(sys.executable, "vilfredo_peer.py", settings)]
    absent: list[str] = []
    for name, script in (("llama.cpp", "llama_cpp_peer.py"), ("OpenVINO", "openvino_peer.py")):
        try:
            peers.append(Peer(arguments.peer_python, script, settings))
        except PeerDied:
            absent.append(f"{name} could not load this file.")
    results: dict[str, dict[str, Rates]] = {}
    for column in COLUMNS:
        if arguments.column and column.name not in arguments.column:
            continue
        try:
            results[column.name] = compare(column, peers, Random(column.name))
        except PeerDied as death:
            absent.append(f"{column.name}: a peer died: {death}")
            break
    for peer in peers:
        peer.close()
    return Measured(model, results, *_size(path), tuple(absent))


def _size(path: Path) -> tuple[int, int]:
    """Bytes of packed weights that a token reads, and multiply-adds of its body."""
    checkpoint = open_checkpoint(path)
    spec = read_spec(checkpoint)
    weights = load(spec, checkpoint, choose("auto", 1))
    read = weights.head.nbytes
    for layer in weights.layers:
        parts = (
            layer.query,
            layer.key,
            layer.value,
            layer.output,
            layer.gate,
            layer.up,
            layer.down,
        )
        read += sum(part.nbytes for part in parts)
    return read, body_multiply_adds(spec)


if __name__ == "__main__":
    main()
