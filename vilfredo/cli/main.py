"""The `vilfredo` command. Each subcommand is a file; this one only gathers them.

Subcommands import what they run inside their functions: `vilfredo --help` then costs no model
code, and `vilfredo generate` no server.
"""

import sys
from typing import Annotated

import typer

from vilfredo.base.errors import InvalidInput, VilfredoError
from vilfredo.cli import chat, generate, models, profile, pull, selftest, serve, verify

app = typer.Typer(
    name="vilfredo",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
for module in (serve, chat, generate, pull, models, profile, selftest, verify):
    app.command(module.__name__.rpartition(".")[2])(module.command)


def _print_version(asked: bool) -> None:
    from importlib.metadata import version

    if asked:
        print(f"vilfredo {version('vilfredo')}")
        raise typer.Exit


@app.callback()
def command(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Print the version and exit."
        ),
    ] = False,
) -> None:
    """Serve the models you own."""


def main() -> None:
    """Errors that are made for the user end in one line; a fault of ours keeps its traceback.
    typer sees to Ctrl-C (130), to wrong flags (2) and to a reader of our output that left."""
    try:
        app()
    except VilfredoError as error:
        print(f"vilfredo: {error}", file=sys.stderr)
        sys.exit(2 if isinstance(error, InvalidInput) else 1)
