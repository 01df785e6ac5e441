"""The `vilfredo` command. Each subcommand is a file; this one only gathers them.

Subcommands import what they run inside their functions: `vilfredo --help` then costs no model
code, and `vilfredo generate` no server.
"""

import sys

import typer

from vilfredo.base.errors import InvalidInput, VilfredoError
from vilfredo.cli import chat, generate, models, pull, selftest, serve, verify

app = typer.Typer(
    name="vilfredo",
    help="Serve the models you own.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
for module in (serve, chat, generate, pull, models, selftest, verify):
    app.command(module.__name__.rpartition(".")[2])(module.command)


def main() -> None:
    """Errors that are made for the user end in one line; anything else keeps its traceback."""
    try:
        app()
    except VilfredoError as error:
        print(f"vilfredo: {error}", file=sys.stderr)
        sys.exit(2 if isinstance(error, InvalidInput) else 1)
    except KeyboardInterrupt:
        sys.exit(130)
    except BrokenPipeError:  # `vilfredo generate … | head`
        sys.stderr.close()
        sys.exit(141)
