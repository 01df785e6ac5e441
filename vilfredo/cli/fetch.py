"""A model's name to its file, pulled with a progress bar if it is not there yet."""

from pathlib import Path

from vilfredo.weights.catalog import CATALOG, Model
from vilfredo.weights.store import ModelStore


def ensure(name: str) -> Path:
    """Where the model lies. Raises InvalidInput for an unknown name, and PullFailed."""
    store = ModelStore.default()
    found = store.resolve(name)
    if isinstance(found, Path):
        return found
    return store.find(found) or pull_with_bar(store, found)


def present(name: str) -> str:
    """What settings may call the model, once it is here: its catalog name, or its path."""
    path = ensure(name)
    return name if name in CATALOG else str(path)


def pull_with_bar(store: ModelStore, model: Model) -> Path:
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        DownloadColumn,
        Progress,
        TextColumn,
        TimeRemainingColumn,
        TransferSpeedColumn,
    )

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        DownloadColumn(),
        TransferSpeedColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True)) as bar:
        task = bar.add_task(model.name, total=None)

        def progress(done: int, total: int, label: str) -> None:
            bar.update(
                task, completed=done, total=total or None, description=f"{model.name}: {label}"
            )

        return store.pull(model, progress)
