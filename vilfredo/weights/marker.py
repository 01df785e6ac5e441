"""Remembers that files were verified, so that a start need not hash a gigabyte again."""

import hashlib
import json
import os
from collections.abc import Callable, Mapping
from pathlib import Path

CHUNK_BYTES = 1 << 20
MARKER = "verified.json"


def write_marker(folder: Path, hashes: Mapping[str, str]) -> None:
    """`hashes` are of the folder's files, by name. Raises OSError."""
    facts = {name: [sha256, *_stamp(folder / name)] for name, sha256 in hashes.items()}
    temporary = folder / f"{MARKER}.new"
    temporary.write_text(json.dumps(facts, indent=1), encoding="utf-8")
    os.replace(temporary, folder / MARKER)


def read_marker(folder: Path) -> Mapping[str, str]:
    """SHA-256 by name of the files that have not changed since they were verified. A marker
    that cannot be read vouches for nothing."""
    try:
        facts = json.loads((folder / MARKER).read_bytes())
        return {
            name: sha256
            for name, (sha256, *stamp) in facts.items()
            if stamp == _stamp(folder / name)
        }
    except (OSError, ValueError, TypeError, AttributeError):
        return {}


def hash_file(path: Path, tick: Callable[[int], None]) -> str:
    """`tick` is told how many bytes are done."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while chunk := file.read(CHUNK_BYTES):
            digest.update(chunk)
            tick(file.tell())
    return digest.hexdigest()


def _stamp(path: Path) -> list[int]:
    status = path.stat()
    return [status.st_size, status.st_mtime_ns]
