"""An engine under measurement, in a process of its own; see peers/serve.py for what it answers."""

import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from bench.columns import Column

SCRIPTS = Path(__file__).parent / "peers"


class PeerDied(Exception):
    """The peer's process ended before it answered; its last words are on stderr."""


class Peer:
    """Raises PeerDied from every method, and from its construction where the peer cannot run."""

    def __init__(self, python: str, script: str, settings: Mapping[str, Any]) -> None:
        self._process = subprocess.Popen(
            [python, str(SCRIPTS / script)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self.name: str = self._ask(settings)["ready"]

    def begin(self, column: Column, prompts: list[list[int]]) -> float:
        """Seconds until each sequence has its first token."""
        batch = {"prompts": prompts, "tokens": column.tokens, "copies": column.copies}
        return self._ask({"begin": batch})["seconds"]

    def advance(self, steps: int) -> float:
        """Seconds for that many more tokens of each sequence."""
        return self._ask({"advance": steps})["seconds"]

    def end(self) -> list[list[int]]:
        """The tokens that the batch was given."""
        return self._ask({"end": True})["output"]

    def close(self) -> None:
        self._process.communicate()

    def _ask(self, question: Mapping[str, Any]) -> dict[str, Any]:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        try:
            self._process.stdin.write(json.dumps(question) + "\n")
            self._process.stdin.flush()
        except BrokenPipeError:
            raise PeerDied(self._process.args) from None
        for line in self._process.stdout:
            if line.startswith("{"):  # engines print what they like
                return json.loads(line)
        raise PeerDied(self._process.args)


def say(text: str) -> None:
    """Tells whoever waits what is being measured."""
    print(text, file=sys.stderr, flush=True)
