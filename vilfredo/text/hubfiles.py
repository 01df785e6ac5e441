"""What stands beside a Hugging Face tokenizer.json: ends, special tokens by role, the template."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from vilfredo.base.errors import BadFile

SETTINGS = "tokenizer_config.json"
ROLES = ("bos", "eos", "pad", "unk")


def read_json(path: Path) -> dict[str, Any]:
    """Empty where there is no such file."""
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, RecursionError) as error:
        raise BadFile(path, f"is no JSON: {error}") from error
    if not isinstance(value, dict):
        raise BadFile(path, "is no JSON object")
    return value


def spellings(settings: Mapping[str, Any]) -> dict[str, str]:
    """`bos_token` and its like, which the settings have plain or as an object."""
    values = {f"{role}_token": settings.get(f"{role}_token") for role in ROLES}
    plain = {k: v.get("content") if isinstance(v, dict) else v for k, v in values.items()}
    return {key: value for key, value in plain.items() if isinstance(value, str)}


def find_ends(directory: Path, config: Mapping[str, Any], ids: Mapping[str, int]) -> set[int]:
    """The tokens that any of the files calls the end of a sequence."""
    ends: set[int] = set()
    known = frozenset(ids.values())
    for source in (config, read_json(directory / "generation_config.json")):
        value = source.get("eos_token_id")
        for token in value if isinstance(value, list) else [value]:
            if token is None:
                continue
            if token not in known:
                raise BadFile(directory, f"eos_token_id: the tokenizer has no token {token!r}")
            ends.add(token)
    name = spellings(read_json(directory / SETTINGS)).get("eos_token")
    if name is not None and name in ids:
        ends.add(ids[name])
    return ends


def find_template(directory: Path) -> tuple[str | None, Path]:
    """The chat template's source, and the file that it is in."""
    file = directory / "chat_template.jinja"
    if file.is_file():
        try:
            return file.read_text(encoding="utf-8"), file
        except ValueError as error:
            raise BadFile(file, f"is no UTF-8: {error}") from error
    path = directory / SETTINGS
    match read_json(path).get("chat_template"):
        case None:
            return None, path
        case str(source):
            return source, path
        case list(several):
            for entry in several:
                match entry:
                    case {"name": "default", "template": str(source)}:
                        return source, path
            return None, path
    raise BadFile(path, "chat_template is no string")
