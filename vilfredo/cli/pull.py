"""`vilfredo pull NAME…`: fetch models, verify them, keep them in the cache."""

from typing import Annotated

import typer


def command(
    names: Annotated[list[str], typer.Argument(help="Catalog names, or hf:ORG/REPO/FILE.gguf.")],
) -> None:
    """Fetch models, verify their SHA-256 and keep them in the cache."""
    from vilfredo.cli.fetch import ensure

    for name in names:
        print(f"{name}: {ensure(name)}")
