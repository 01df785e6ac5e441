"""What the user asks for: flags over environment over TOML over defaults; may still say "auto"."""

import dataclasses
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, get_args

from vilfredo.base.errors import InvalidInput

Auto = Literal["auto"]
AUTO: Auto = "auto"
INVARIANT = "invariant"  # the fastest table whose results do not depend on the batch
MOST_THREADS = 1024  # far below where systems refuse to start one more


@dataclass(frozen=True, slots=True)
class Settings:
    model: str = "smollm2-135m"  # a catalog name or a path
    served_name: str | None = None  # what the API calls the model; None: the catalog name or stem
    host: str = "127.0.0.1"
    port: int = 8000
    table: str = AUTO  # the op table: the fastest, INVARIANT, or one by its name
    threads: int | Auto = AUTO
    context: int | Auto = AUTO  # most tokens of one sequence
    block_tokens: int = 16
    kv_megabytes: int | Auto = AUTO
    max_sequences: int = 64  # most running at once
    token_budget: int = 512  # most tokens a step
    max_waiting: int = 1024  # most requests in the queue
    max_waiting_tokens: int = 1_000_000  # most prompt tokens in the queue
    packed_cache: str = AUTO  # a folder for packed weights, or off

    def __post_init__(self) -> None:
        for field in dataclasses.fields(self):
            value, kinds = getattr(self, field.name), _kinds(field)
            if value == AUTO and Auto in kinds:
                continue
            if int not in kinds:
                if not isinstance(value, kinds) or value == "":
                    raise InvalidInput(field.name, f"must be text, not {value!r}")
                continue
            if type(value) is not int:
                raise InvalidInput(field.name, f"must be a whole number, not {value!r}")
            if value < (0 if field.name == "port" else 1):
                raise InvalidInput(field.name, f"must be positive, not {value}")
        if self.port > 65535:
            raise InvalidInput("port", f"must be below 65536, not {self.port}")
        if self.threads != AUTO and self.threads > MOST_THREADS:
            raise InvalidInput("threads", f"must be at most {MOST_THREADS}, not {self.threads}")


def _kinds(field: dataclasses.Field[Any]) -> tuple[Any, ...]:
    """The members of a field's type: (int,), (int, Auto), (str,) or (str, NoneType)."""
    return get_args(field.type) or (field.type,)


def load_settings(
    flags: Mapping[str, Any], environment: Mapping[str, str], toml: Path | None = None
) -> Settings:
    """Merges the three sources. `flags` holds only what was given on the command line.

    Environment variables are VILFREDO_ and the field's name in capitals. Raises InvalidInput for
    an unknown TOML key or a value of the wrong kind, by name.
    """
    known = {field.name: _kinds(field) for field in dataclasses.fields(Settings)}
    merged: dict[str, Any] = {}
    if toml is not None:
        merged.update(_read_toml(toml, known))
    for name, kinds in known.items():
        value = environment.get(f"VILFREDO_{name.upper()}")
        if value is not None:
            merged[name] = _parse(name, value, kinds)
    for name, value in flags.items():
        merged[name] = _parse(name, value, known[name]) if isinstance(value, str) else value
    return Settings(**merged)


def _read_toml(path: Path, known: Mapping[str, Any]) -> dict[str, Any]:
    try:
        values = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InvalidInput(str(path), error.strerror or str(error)) from error
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise InvalidInput(str(path), str(error)) from error
    for name in values:
        if name not in known:
            raise InvalidInput(f"{path}: {name}", "is not a setting")
    return values


def _parse(name: str, text: str, kinds: tuple[Any, ...]) -> str | int:
    """A flag's or variable's text as the field's kind: whole numbers become int."""
    if int not in kinds or (text == AUTO and Auto in kinds):
        return text
    try:
        return int(text)
    except ValueError:
        raise InvalidInput(name, f"must be a whole number, not {text!r}") from None
