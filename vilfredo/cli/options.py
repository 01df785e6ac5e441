"""Flags that several commands share, and the way from flags to Settings."""

import os
from pathlib import Path
from typing import Annotated

import typer

from vilfredo.base.settings import Settings, load_settings

Model = Annotated[str, typer.Argument(help="A catalog name (see `vilfredo models`) or a path.")]
OptionalModel = Annotated[
    str | None, typer.Option("--model", "-m", help="A catalog name or a path.", show_default=False)
]
Threads = Annotated[str | None, typer.Option(help="Threads of the kernels, or auto.")]
Context = Annotated[str | None, typer.Option(help="Most tokens of one sequence, or auto.")]
Table = Annotated[
    str | None,
    typer.Option(help="The op table: auto, invariant or a name (see `vilfredo selftest`)."),
]
KvMegabytes = Annotated[str | None, typer.Option(help="Memory for keys and values, or auto.")]
TokenBudget = Annotated[str | None, typer.Option(help="Most tokens of one step.")]
MaxSequences = Annotated[str | None, typer.Option(help="Most sequences that run at once.")]
PackedCache = Annotated[str | None, typer.Option(help="A folder for packed weights, auto or off.")]
Config = Annotated[Path | None, typer.Option(help="A TOML file of settings, by their names.")]
MaxTokens = Annotated[int, typer.Option(help="Most tokens of the answer.")]
Temperature = Annotated[float, typer.Option(help="0 is greedy.")]
Seed = Annotated[int | None, typer.Option(help="The same seed gives the same answer.")]


def settings_from(config: Path | None = None, **flags: str | int | None) -> Settings:
    """Flags over environment over TOML over defaults; a flag that is None was not given."""
    given = {name: value for name, value in flags.items() if value is not None}
    return load_settings(given, os.environ, config)
