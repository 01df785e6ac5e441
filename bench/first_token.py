"""From `vilfredo generate` to its first text, in seconds: a new process each time, warm disk cache.

python bench/first_token.py [--model NAME] [--runs N]
"""

import argparse
import statistics
import subprocess
import sys
import time

from vilfredo.weights.catalog import CATALOG


def first_text(model: str) -> float:
    command = [sys.executable, "-m", "vilfredo", "generate", "The capital of France is"]
    begin = time.perf_counter()
    process = subprocess.Popen([*command, "--model", model], stdout=subprocess.PIPE)
    assert process.stdout is not None
    if not process.stdout.read(1):
        raise SystemExit(f"{model} gave no text")
    elapsed = time.perf_counter() - begin
    process.kill()
    process.communicate()
    return elapsed


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--model", default="smollm2-135m", choices=CATALOG)
    parser.add_argument("--runs", type=int, default=7)
    arguments = parser.parse_args()
    first_text(arguments.model)  # warms the disk cache
    times = sorted(first_text(arguments.model) for _ in range(arguments.runs))
    print(
        f"{arguments.model}: {statistics.median(times):.2f} s to the first text, median of "
        f"{len(times)} ({times[0]:.2f} to {times[-1]:.2f})"
    )


if __name__ == "__main__":
    main()
