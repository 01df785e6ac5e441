"""`vilfredo models`: what the catalog offers and what is here already."""


def command() -> None:
    """List the catalog: size, license, and whether the model is in the cache."""
    from rich.console import Console
    from rich.table import Table

    from vilfredo.weights.catalog import CATALOG
    from vilfredo.weights.store import ModelStore

    store = ModelStore.default()
    table = Table(box=None, pad_edge=False)
    for heading in ("name", "size", "license", "cached", "what it is"):
        table.add_column(heading)
    for entry in CATALOG.values():
        cached = "yes" if store.find(entry) else "no"
        size = f"{entry.size / 1e6:,.0f} MB"
        table.add_row(entry.name, size, entry.license, cached, entry.description)
    Console().print(table)
    print("\nAny GGUF file or Hugging Face directory is served too: vilfredo serve PATH")
