"""`vilfredo generate "…"`: one completion, in this process, as it comes."""

import sys
from typing import Annotated

import typer

from vilfredo.base.errors import InvalidInput
from vilfredo.cli.options import (
    Context,
    MaxTokens,
    OptionalModel,
    Seed,
    Table,
    Temperature,
    Threads,
)


def command(
    prompt: Annotated[str, typer.Argument(help="The text to go on with; - reads it from stdin.")],
    model: OptionalModel = None,
    max_tokens: MaxTokens = 256,
    temperature: Temperature = 0.0,
    seed: Seed = None,
    chat: Annotated[bool, typer.Option(help="Take the prompt as a user's message.")] = False,
    threads: Threads = None,
    context: Context = None,
    table: Table = None,
) -> None:
    """Complete one prompt and print the text as it comes."""
    from vilfredo.cli.local import open_model, options_from

    text = _read_stdin() if prompt == "-" else prompt
    llm = open_model(model, threads=threads, context=context, table=table)
    asked = options_from(max_tokens=max_tokens, temperature=temperature, seed=seed)
    pieces = llm.stream([{"role": "user", "content": text}] if chat else text, **asked)
    for piece in pieces:
        print(piece, end="", flush=True)
    print()


def _read_stdin() -> str:
    try:
        return sys.stdin.buffer.read().decode()
    except UnicodeDecodeError as error:
        raise InvalidInput("prompt", f"stdin is not UTF-8 at byte {error.start}") from error
