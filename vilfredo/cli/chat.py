"""`vilfredo chat`: a conversation in the terminal, the answer live."""

import contextlib
import sys
from typing import TYPE_CHECKING, Annotated

import typer

from vilfredo.base.errors import Unsupported, VilfredoError
from vilfredo.cli.options import (
    Context,
    MaxTokens,
    OptionalModel,
    Seed,
    Table,
    Temperature,
    Threads,
)

if TYPE_CHECKING:
    from vilfredo.llm import LLM, Options

HELP = "/clear forgets the conversation, /exit or Ctrl-D leaves, Ctrl-C stops an answer."


def command(
    model: OptionalModel = None,
    system: Annotated[str | None, typer.Option(help="A system message.")] = None,
    max_tokens: MaxTokens = 1024,
    temperature: Temperature = 0.7,
    seed: Seed = None,
    threads: Threads = None,
    context: Context = None,
    table: Table = None,
) -> None:
    """Talk to a model in the terminal."""
    from vilfredo.cli.local import open_model, options_from

    llm = open_model(model, threads=threads, context=context, table=table)
    if llm.template is None:
        raise Unsupported(
            f"{llm.plan.served_name} has no chat template: it completes text "
            "(vilfredo generate), it does not converse"
        )
    options = options_from(max_tokens=max_tokens, temperature=temperature, seed=seed)
    print(f"{llm.plan.served_name} on {llm.plan.table}, {llm.plan.threads} threads. {HELP}")
    opening = [{"role": "system", "content": system}] if system else []
    messages = list(opening)
    while (line := _ask()) is not None:
        match line.strip():
            case "":
                continue
            case "/exit":
                return
            case "/clear":
                messages = list(opening)
            case "/help":
                print(HELP)
            case text if text.startswith("/") and text[1:].isalpha():
                print(f"There is no {text}. {HELP}")
            case text:
                asked = [*messages, {"role": "user", "content": text}]
                try:
                    answer = _answer(llm, asked, options)
                except VilfredoError as error:  # as if it had not been asked
                    print(f"vilfredo: {error}", file=sys.stderr)
                else:
                    messages = [*asked, {"role": "assistant", "content": answer}]


def _ask() -> str | None:
    """A line of the user's; None at the end of input."""
    with contextlib.suppress(ImportError):  # line editing and history, where the system has it
        import readline  # noqa: F401
    try:
        return input("\n> ")
    except (EOFError, KeyboardInterrupt):
        print()
        return None


def _answer(llm: "LLM", messages: list[dict[str, str]], options: "Options") -> str:
    """Prints an answer as it comes. Ctrl-C stops it; what has come stays in the conversation."""
    from vilfredo.cli.interrupt import interrupts

    said = ""
    with interrupts() as interrupted, contextlib.closing(llm.stream(messages, **options)) as pieces:
        for piece in pieces:
            said += piece
            print(piece, end="", flush=True)
            if interrupted():
                print(" [stopped]", end="")
                break
    print()
    return said
