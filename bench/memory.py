"""Peak resident memory of a serving engine, beyond its packed weights and the KV that it used.

    python -m bench.memory [--model NAME]

The first process packs the weights where that has not been done; the second is measured, through a
long prompt in chunks and a batch of decoding sequences.
"""

import argparse
import json
import subprocess
import sys
from pathlib import Path

from vilfredo.base.clock import SystemClock
from vilfredo.base.settings import Settings
from vilfredo.core.request import Limits, Request, Sampling
from vilfredo.engine.assemble import assemble, build
from vilfredo.engine.engine import Engine
from vilfredo.weights.catalog import CATALOG
from vilfredo.weights.store import ModelStore


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--model", default="smollm2-135m", choices=CATALOG)
    parser.add_argument("--measure", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.measure:
        print(json.dumps(measure(arguments.model)))
        return
    command = [sys.executable, "-m", "bench.memory", "--model", arguments.model, "--measure"]
    for _ in range(2):
        said = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    found = json.loads(said)
    beyond = found["peak"] - found["packed"] - found["kv"]
    print(
        f"{arguments.model}: {found['peak'] / 1e6:.0f} MB at most, of which packed weights "
        f"{found['packed'] / 1e6:.0f} and KV in use {found['kv'] / 1e6:.0f}: "
        f"{beyond / 1e6:.0f} beyond"
    )


def measure(model: str) -> dict[str, int]:
    path = ModelStore.default().find(CATALOG[model])
    assembly = assemble(Settings(model=str(path), threads=2, context=4096))
    engine = Engine(assembly.plan, build(assembly), SystemClock())
    used = 0
    for prompt, batch in ((3500, 1), (64, 16)):
        for index in range(batch):
            name = f"{prompt}-{index}"
            ids = tuple(1000 + (7 * place + index) % 5000 for place in range(prompt))
            engine.submit(Request(name, ids, Limits(32), Sampling(temperature=0.0), tenant=name))
        while engine.has_work:
            engine.step()
        used += batch * (prompt + 32)  # blocks of ended sequences are kept for the prefix cache
    packed = Path(assembly.plan.packed_cache).expanduser()
    files = [file.stat().st_size for file in packed.rglob("*") if path and path.stem in file.name]
    return {
        "peak": peak(),
        "packed": max(files, default=0),
        "kv": used * assembly.spec.kv_bytes_per_token,
    }


def peak() -> int:
    """Bytes, by the kernel's account of this process."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) * 1024
    raise SystemExit("this system does not tell the peak of resident memory")


if __name__ == "__main__":
    main()
