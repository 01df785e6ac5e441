"""Keeps packed weights on disk, one file a checkpoint and layout; losing them costs only time.

A file is never changed: it is replaced or removed whole, and models that run keep the old one.
"""

import contextlib
import hashlib
import logging
import os
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from vilfredo.weights.lock import locked
from vilfredo.weights.packedfile import Contents, NotPacked, Origin, read_contents, write_packed
from vilfredo.weights.region import Bytes, allocate, load_region, sums_of

SUFFIX, DRAFT = ".packed", ".draft"
LEFT_FREE_BYTES = 1 << 30  # a disk that is nearly full is not filled up with a cache

_log = logging.getLogger(__name__)

Fill = Callable[[Bytes], tuple[float, ...]]  # packs every place into the memory, gives their gains


@dataclass(frozen=True, slots=True)
class Stored:
    memory: Bytes
    gains: tuple[float, ...]  # of the origin's places


def pack_in_memory(origin: Origin, fill: Fill) -> Stored:
    memory = allocate(origin.size)
    return Stored(memory, fill(memory))


def free_bytes(folder: Path) -> int:
    return shutil.disk_usage(folder).free


@dataclass(frozen=True, slots=True)
class PackedCache:
    folder: Path
    threads: int = 1  # that read a file
    free: Callable[[Path], int] = free_bytes
    write: Callable[[BinaryIO, Contents, Bytes], None] = write_packed

    def find_or_pack(self, origin: Origin, fill: Fill) -> Stored:
        """What is wrong with the folder, or with a file in it, costs a line in the log and time.

        Of processes that start together one packs, and the others wait for its file. Whatever
        `fill` raises is passed on.
        """
        if found := self._find(origin):
            return found
        with contextlib.ExitStack() as held:
            may_write = self._lock(held)
            if may_write and (found := self._find(origin)):
                return found
            packed = pack_in_memory(origin, fill)
            if may_write:
                self._keep(origin, packed)
            return packed

    def path(self, origin: Origin) -> Path:
        """The same for every version of the layout and the source: the new replaces the old."""
        key = hashlib.sha256(f"{origin.source}\0{origin.layout}".encode()).hexdigest()
        return self.folder / f"{Path(origin.source).stem}-{key[:16]}{SUFFIX}"

    def _find(self, origin: Origin) -> Stored | None:
        path = self.path(origin)
        try:
            with path.open("rb") as file:
                contents, start = read_contents(file)
                if contents.origin != origin:
                    return None  # of an older file or version: to be replaced
                memory, sums = load_region(file.fileno(), start, origin.size, self.threads)
            if sums != contents.sums or len(contents.gains) != len(origin.places):
                raise NotPacked("has weights that are damaged")
            return Stored(memory, contents.gains)
        except FileNotFoundError:
            return None
        except (NotPacked, OSError) as error:
            _log.warning("%s %s: weights are packed again", path, error)
            return None

    def _lock(self, held: contextlib.ExitStack) -> bool:
        def told() -> None:
            _log.warning("waiting for another process that packs weights into %s", self.folder)

        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            held.enter_context(locked(self.folder / "lock", told))
        except OSError as error:
            self._tell(str(error))
            return False
        return True

    def _keep(self, origin: Origin, packed: Stored) -> None:
        """All or nothing; whoever calls holds the lock, so every draft is a dead process's."""
        try:
            self._sweep()
            if self.free(self.folder) < origin.size + LEFT_FREE_BYTES:
                self._tell(f"no room for {origin.size / 1e6:,.0f} MB in {self.folder}")
                return
            contents = Contents(origin, packed.gains, sums_of(packed.memory))
            draft = self.path(origin).with_suffix(DRAFT)
            try:
                with draft.open("wb") as file:
                    self.write(file, contents, packed.memory)
                os.replace(draft, self.path(origin))
            except BaseException:
                draft.unlink(missing_ok=True)
                raise
        except OSError as error:
            self._tell(str(error))

    def _sweep(self) -> None:
        """Removes what no start will ever read: drafts, other versions' files, and those of models
        that are gone."""
        for path in self.folder.iterdir():
            if path.suffix == DRAFT or (path.suffix == SUFFIX and not _has_source(path)):
                path.unlink()

    def _tell(self, reason: str) -> None:
        _log.warning("packed weights are not kept, so the next start packs again: %s", reason)


def _has_source(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            return Path(read_contents(file)[0].origin.source).exists()
    except NotPacked:
        return False
