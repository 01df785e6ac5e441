"""The command as a user types it, run in this process."""

import io
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from vilfredo.cli.main import main


@dataclass(frozen=True, slots=True)
class Ended:
    code: int
    out: str
    err: str


@pytest.fixture
def vilfredo(monkeypatch, capsys) -> Callable[..., Ended]:
    def run(*arguments: str | Path, stdin: bytes = b"") -> Ended:
        monkeypatch.setattr(sys, "argv", ["vilfredo", *map(str, arguments)])
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin), "utf-8"))
        with pytest.raises(SystemExit) as ended:
            main()
        assert isinstance(ended.value.code, int)
        return Ended(ended.value.code, *capsys.readouterr())

    return run


@pytest.fixture(autouse=True)
def no_settings_of_the_developer(monkeypatch) -> None:
    for name in os.environ:
        if name.startswith("VILFREDO_") and name not in (
            "VILFREDO_CACHE",
            "VILFREDO_PACKED_CACHE",  # the whole run has a folder of its own
            "VILFREDO_REQUIRE_MODELS",
        ):
            monkeypatch.delenv(name)


@pytest.fixture
def empty_cache(monkeypatch, tmp_path: Path) -> Path:
    cache = tmp_path / "cache"
    monkeypatch.setenv("VILFREDO_CACHE", str(cache))
    return cache
