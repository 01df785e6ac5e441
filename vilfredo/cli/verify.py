"""`vilfredo verify MODEL`: where a table's results part from the reference's, layer by layer."""

from typing import TYPE_CHECKING, Annotated

import typer

from vilfredo.cli.options import Model, Table, Threads

if TYPE_CHECKING:
    from vilfredo.models.verify import Verification

PROMPT = "The frontier is the set of points that no other point beats: to gain in one, you pay in"


def command(
    model: Model,
    prompt: Annotated[str, typer.Option(help="The text that both compute.")] = PROMPT,
    against: Annotated[
        str, typer.Option(help="reference, or transformers where that is installed.")
    ] = "reference",
    table: Table = None,
    threads: Threads = None,
) -> None:
    """Show where logits part from a reference, layer by layer."""
    from vilfredo.base.errors import InvalidInput
    from vilfredo.cli.fetch import present
    from vilfredo.cli.options import settings_from
    from vilfredo.engine.assemble import assemble
    from vilfredo.models.verify import verify, verify_against_transformers
    from vilfredo.ops.choose import choose
    from vilfredo.text.load import load_tokenizer

    ways = {"reference": verify, "transformers": verify_against_transformers}
    if against not in ways:
        raise InvalidInput("against", f"{against!r} is none of {', '.join(ways)}")
    assembly = assemble(settings_from(model=present(model), table=table, threads=threads))
    tokenizer = load_tokenizer(assembly.checkpoint)
    tokens = tokenizer.encode(prompt)
    if tokenizer.bos is not None:
        tokens = [tokenizer.bos, *tokens]
    kernels = choose(assembly.plan.table, assembly.plan.threads)
    _show(ways[against](assembly.checkpoint, kernels, tokens))


def _show(result: "Verification") -> None:
    from rich.console import Console
    from rich.table import Table as Grid

    grid = Grid(title=f"{result.table} against {result.against}", title_justify="left", box=None)
    for heading in ("result", "mean difference", "largest"):
        grid.add_column(heading)
    for each in result.differences:
        grid.add_row(each.name, f"{each.mean:.2e}", f"{each.largest:.2e}")
    Console().print(grid)
    print("\nDifferences are parts of the root mean square of the reference's row.")
    print(f"KL divergence: {result.divergence:.2e} nats mean, {result.largest_divergence:.2e} most")
    print(f"Same most likely token: {result.agreement:.1%} of positions")
