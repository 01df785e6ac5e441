"""Typed reading of a checkpoint's configuration: a wrong or missing value is an error by name."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from vilfredo.base.errors import BadFile, Unsupported
from vilfredo.weights.checkpoint import Checkpoint

LARGEST = 1 << 24  # beyond any size of a real model: a lie or a broken file
LARGEST_NUMBER = 1e30  # well within float32


class Config:
    """The keys under `prefix`, as GGUF's metadata and the sections of a config.json have them.

    A null counts as absent. Messages name the whole key.
    """

    def __init__(self, path: Path, values: Mapping[str, Any], prefix: str = "") -> None:
        self.path = path
        self._values = values
        self._prefix = prefix

    @classmethod
    def of(cls, checkpoint: Checkpoint, prefix: str = "") -> "Config":
        values = checkpoint.config.items()
        kept = {key.removeprefix(prefix): each for key, each in values if key.startswith(prefix)}
        return cls(checkpoint.path, kept, prefix)

    def has(self, key: str) -> bool:
        return self._values.get(key) is not None

    def whole(self, key: str, default: int | None = None, most: int = LARGEST) -> int:
        """A whole number from 1 to `most`."""
        value = self._value(key, default)
        if isinstance(value, bool) or not isinstance(value, int):
            raise self.bad(key, f"must be a whole number, not {_shown(value)}")
        if not 1 <= value <= most:
            raise self.bad(key, f"must lie between 1 and {most}, not {_shown(value)}")
        return value

    def number(self, key: str, default: float | None = None) -> float:
        """A positive number below 1e30."""
        value = self._value(key, default)
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise self.bad(key, f"must be a number, not {_shown(value)}")
        if not 0 < value < LARGEST_NUMBER:
            raise self.bad(
                key, f"must be positive and below {LARGEST_NUMBER:g}, not {_shown(value)}"
            )
        return float(value)

    def flag(self, key: str, default: bool) -> bool:
        value = self._value(key, default)
        if not isinstance(value, bool):
            raise self.bad(key, f"must be true or false, not {_shown(value)}")
        return value

    def text(self, key: str, default: str | None = None) -> str:
        value = self._value(key, default)
        if not isinstance(value, str):
            raise self.bad(key, f"must be a string, not {_shown(value)}")
        return value

    def texts(self, key: str) -> list[str]:
        value = self._value(key, None)
        if not isinstance(value, list) or not all(isinstance(each, str) for each in value):
            raise self.bad(key, f"must be a list of strings, not {_shown(value)}")
        return value

    def section(self, key: str) -> "Config":
        """A table within; an absent one is empty."""
        value = self._value(key, {})
        if not isinstance(value, Mapping):
            raise self.bad(key, f"must be an object, not {_shown(value)}")
        return Config(self.path, value, f"{self._prefix}{key}.")

    def refuse(self, key: str) -> None:
        """Raises Unsupported where the key asks for something: what it means is not built."""
        value = self._values.get(key)
        absent = value is None or (isinstance(value, int | float) and value == 0)
        if not absent:
            raise Unsupported(f"{self.path}: {self._prefix}{key} = {_shown(value)}")

    def expect(self, key: str, value: object) -> None:
        """Raises Unsupported where the key is there and says anything else."""
        found = self._values.get(key)
        if found is not None and found != value:
            raise Unsupported(f"{self.path}: {self._prefix}{key} = {_shown(found)}")

    def bad(self, key: str, reason: str) -> BadFile:
        return BadFile(self.path, f"{self._prefix}{key} {reason}")

    def _value(self, key: str, default: Any) -> Any:
        value = self._values.get(key)
        if value is None:
            if default is None:
                raise self.bad(key, "is missing")
            return default
        return value


def _shown(value: object) -> str:
    """A value for a message: hostile ones may be long."""
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:60]}…"
