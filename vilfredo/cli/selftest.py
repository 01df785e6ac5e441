"""`vilfredo selftest`: every op of a table beside the reference."""

from typing import TYPE_CHECKING, Annotated

import typer

from vilfredo.cli.options import Threads

if TYPE_CHECKING:
    from rich.table import Table

    from vilfredo.ops.selftest import Report


def command(
    table: Annotated[
        str | None, typer.Option(help="One table; all that run here if absent.")
    ] = None,
    threads: Threads = None,
) -> None:
    """Compare every op of the tables that run on this machine with the reference."""
    from rich.console import Console

    from vilfredo.base.machine import this_machine
    from vilfredo.cli.options import settings_from
    from vilfredo.ops.choose import choose, tables
    from vilfredo.ops.selftest import self_test

    asked = settings_from(threads=threads).threads
    count = this_machine().cores if asked == "auto" else asked
    native = tables()[:-1]  # the last is the reference, which agrees with itself
    names = [table] if table is not None else native or tables()
    reports = [self_test(choose(name, count)) for name in names]
    for report in reports:
        Console().print(_drawn(report))
    if any(report.failures for report in reports):
        raise typer.Exit(1)


def _drawn(report: "Report") -> "Table":
    from rich.markup import escape
    from rich.table import Table

    table = Table(
        title=f"{report.table}: {len(report.checks)} checks", title_justify="left", box=None
    )
    for heading in ("op", "worst case", "error", "allowed", ""):
        table.add_column(heading)
    for op in dict.fromkeys(check.op for check in report.checks):
        checks = [check for check in report.checks if check.op == op]
        failed = [check for check in checks if not check.passed]
        worst = max(failed or checks, key=lambda check: check.worst / (check.allowed or 1e-30))
        verdict = f"[red]{len(failed)} failed" if failed else f"[green]{len(checks)} passed"
        table.add_row(op, escape(worst.case), f"{worst.worst:.2g}", f"{worst.allowed:.2g}", verdict)
    return table
