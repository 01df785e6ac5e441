"""Through HTTP with streaming clients, beside the bare engine in one process: tokens a second.

    python -m bench.http [--model NAME] [--clients 16] [--tokens 128] [--rounds 7]

Server and bare engine take turns. The clients read with plain sockets, that they cost little: they
run on the same cores.
"""

import argparse
import asyncio
import json
import re
import statistics
import subprocess
import sys
import time
from random import Random

from bench.columns import Column
from bench.peer import Peer, say
from vilfredo.base.machine import this_machine
from vilfredo.weights.catalog import CATALOG
from vilfredo.weights.store import ModelStore

PROMPT = 32  # tokens


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--model", default="smollm2-135m", choices=CATALOG)
    parser.add_argument("--clients", type=int, default=16)
    parser.add_argument("--tokens", type=int, default=128)
    parser.add_argument("--rounds", type=int, default=7)
    arguments = parser.parse_args()
    path = ModelStore.default().find(CATALOG[arguments.model])
    settings = {"model": str(path), "threads": this_machine().cores}
    bare = Peer(sys.executable, "vilfredo_peer.py", settings)
    server, port = serve(arguments.model)
    ratios, random = [], Random(0)
    for number in range(arguments.rounds + 1):
        alone = bare_rate(bare, arguments, random)
        served = asyncio.run(served_rate(port, arguments, random))
        say(f"bare {alone:.0f}, through HTTP {served:.0f} tokens/s: {served / alone:.2f}")
        if number:  # the first round pays for later ones
            ratios.append(served / alone)
    bare.close()
    server.terminate()
    server.wait()
    median = statistics.median(ratios)
    print(
        f"{arguments.model}, {arguments.clients} streaming clients: {median:.2f} of "
        "the bare engine's tokens a second "
        f"({min(ratios):.2f} to {max(ratios):.2f})"
    )


def serve(model: str) -> tuple[subprocess.Popen[str], int]:
    command = [sys.executable, "-m", "vilfredo", "serve", model, "--port", "0"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    for line in process.stdout:
        if found := re.search(r"on http://[^:]+:(\d+)", line):
            return process, int(found[1])
    raise SystemExit("the server did not start")


def bare_rate(peer: Peer, arguments: argparse.Namespace, random: Random) -> float:
    """Prompts and their tokens, as the clients ask for them."""
    column = Column("bare", arguments.clients, PROMPT, passes=1, windows=1, steps=arguments.tokens)
    seconds = peer.begin(column, column.prompts(random)) + peer.advance(arguments.tokens - 1)
    peer.end()
    return arguments.clients * arguments.tokens / seconds


async def served_rate(port: int, arguments: argparse.Namespace, random: Random) -> float:
    begin = time.perf_counter()
    prompts = [
        [random.randrange(1000, 40_000) for _ in range(PROMPT)] for _ in range(arguments.clients)
    ]
    await asyncio.gather(*(stream(port, prompt, arguments) for prompt in prompts))
    return arguments.clients * arguments.tokens / (time.perf_counter() - begin)


async def stream(port: int, prompt: list[int], arguments: argparse.Namespace) -> None:
    body = json.dumps(
        {
            "model": arguments.model,
            "prompt": prompt,
            "max_tokens": arguments.tokens,
            "temperature": 0,
            "ignore_eos": True,
            "stream": True,
        }
    )
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(
        f"POST /v1/completions HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
        f"Content-Length: {len(body)}\r\nConnection: close\r\n\r\n{body}".encode()
    )
    said = b""
    while chunk := await reader.read(65536):
        said = (said + chunk)[-4096:]
    writer.close()
    if b"data: [DONE]" not in said:
        raise SystemExit(f"a stream broke off: {said[-300:]!r}")


if __name__ == "__main__":
    main()
