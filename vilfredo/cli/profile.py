"""`vilfredo profile MODEL`: where the time of a step goes."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from vilfredo.cli.options import Model, Table, Threads

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.table import Table as Grid

    from vilfredo.engine.profile import StepProfile


def command(
    model: Model,
    prompt: Annotated[int, typer.Option(min=1, help="Tokens of each prompt.")] = 512,
    batch: Annotated[int, typer.Option(min=1, help="Sequences at once.")] = 1,
    tokens: Annotated[int, typer.Option(min=2, help="Tokens that each is given.")] = 32,
    trace: Annotated[
        Path | None, typer.Option(help="Write a Chrome trace here (chrome://tracing, Perfetto).")
    ] = None,
    table: Table = None,
    threads: Threads = None,
) -> None:
    """Show where a step's time goes: kernel by kernel, Python, waiting."""
    import json

    from rich.console import Console

    from vilfredo.base.errors import InvalidInput
    from vilfredo.cli.fetch import present
    from vilfredo.cli.options import settings_from
    from vilfredo.engine import profile
    from vilfredo.engine.assemble import assemble

    asked = {"table": table, "threads": threads, "max_sequences": batch, "max_waiting": batch}
    context = max(prompt + tokens, 256)
    assembly = assemble(settings_from(model=present(model), context=context, **asked))
    if trace is not None and not trace.parent.is_dir():
        raise InvalidInput("trace", f"{trace.parent} is no folder")
    steps = profile.profile(assembly, prompt, batch, tokens)
    print(f"{assembly.plan.served_name} on {assembly.plan.table}, {assembly.plan.threads} threads")
    for kind, decodes in (("prefill", False), ("decode", True)):
        some = [step for step in steps if step.decodes is decodes]
        if some:
            Console().print(_drawn(kind, some))
    if trace is not None:
        trace.write_text(json.dumps(profile.trace(steps)), encoding="utf-8")
        print(f"wrote {trace}")


def _drawn(kind: str, steps: "Sequence[StepProfile]") -> "Grid":
    from statistics import median

    from rich.table import Table as Grid

    from vilfredo.engine.profile import rows

    times = sorted(step.nanoseconds / 1e6 for step in steps)
    mean = sum(times) / len(times)
    grid = Grid(
        title=f"\n{kind}: {len(steps)} steps of {median(step.rows for step in steps):.0f} rows, "
        f"{median(times):.2f} ms each ({times[0]:.2f} to {times[-1]:.2f}); the mean step:",
        title_justify="left",
        box=None,
    )
    grid.add_column("part")
    for heading in ("calls", "ms", "share", "waiting", "GB/s", "GMAC/s"):
        grid.add_column(heading, justify="right")
    for row in rows(steps):
        seconds = row.milliseconds / 1e3
        grid.add_row(
            row.name,
            f"{row.count:.0f}",
            f"{row.milliseconds:.3f}",
            f"{row.milliseconds / mean:.1%}",
            f"{row.waited:.3f}" if row.waited else "",
            f"{row.weight_bytes / seconds / 1e9:.1f}" if row.weight_bytes else "",
            f"{row.multiply_adds / seconds / 1e9:.0f}" if row.multiply_adds else "",
        )
    return grid
