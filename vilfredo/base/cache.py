"""Where Vilfredo keeps what it can fetch or make again: models, derived merges, packed weights."""

from collections.abc import Mapping
from pathlib import Path


def cache_root(environment: Mapping[str, str]) -> Path:
    """$VILFREDO_CACHE, else vilfredo in $XDG_CACHE_HOME, else in ~/.cache."""
    if root := environment.get("VILFREDO_CACHE"):
        return Path(root).expanduser()
    return Path(environment.get("XDG_CACHE_HOME") or "~/.cache").expanduser() / "vilfredo"
