"""One pull: tries a model's sources in turn, verifies what they give, and puts it in its place."""

import errno
import fnmatch
import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from vilfredo.base.errors import PullFailed
from vilfredo.weights.catalog import Entry, HubFile, HubModel, Source
from vilfredo.weights.marker import hash_file, write_marker
from vilfredo.weights.remote import Listed
from vilfredo.weights.stage import Stage

FULL = (errno.ENOSPC, errno.EDQUOT)
# What makes a model directory; repositories hold the same weights in other formats besides.
DIRECTORY_FILES = ("*.json", "*.jinja", "model*.safetensors", "tokenizer.model")


@dataclass(frozen=True, slots=True)
class Pull:
    """Every method raises PullFailed with the reason, or OSError."""

    folder: Path  # the model's own
    stage: Stage
    free: Callable[[Path], int]

    def entry(self, entry: Entry) -> None:
        sha256 = self._obtain(Listed(entry.file, entry.size, entry.sha256), entry.sources)
        self._finish({entry.file: sha256})

    def hub(self, model: HubModel) -> None:
        """The files of a directory count only together, once the marker names them all."""
        hashes: dict[str, str] = {}
        for listed in choose(model, self.stage.remote.hub_listing(model.repo)):
            name = Path(listed.file).name
            source = HubFile(model.repo, listed.file)
            hashes[name] = self._obtain(Listed(name, listed.size, listed.sha256), (source,))
        self._finish(hashes)

    def _obtain(self, wanted: Listed, sources: Iterable[Source]) -> str:
        """Puts one verified file in the folder and returns its SHA-256."""
        if self._lies_here(wanted):
            return str(wanted.sha256)
        reasons: list[str] = []
        for source in sources:
            try:
                return self._fetch(wanted, source)
            except PullFailed as error:
                reasons.append(str(error))
        raise PullFailed("; then ".join(reasons))

    def _lies_here(self, wanted: Listed) -> bool:
        """Whether somebody put it there by hand, or a pull that died before it was finished."""
        path = self.folder / wanted.file
        if not path.is_file() or path.stat().st_size != wanted.size:
            return False
        tick = self.stage.tick("verifying", wanted.size)
        return wanted.sha256 is not None and hash_file(path, tick) == wanted.sha256

    def _fetch(self, wanted: Listed, source: Source) -> str:
        self._require_room(self.stage.needed(source, wanted.size))
        try:
            staged = self.stage.fetch(source, wanted.size)
        except OSError as error:
            if error.errno in FULL:
                needed, free = self.stage.needed(source, wanted.size), self.free(self.folder)
                raise PullFailed(_full(self.folder, needed, free)) from error
            raise
        wrong = _difference(wanted, staged.size, staged.sha256)
        if wrong:
            self.stage.clear()
            raise PullFailed(f"what {source} gave {wrong}")
        os.replace(staged.path, self.folder / wanted.file)
        return staged.sha256

    def _require_room(self, needed: int) -> None:
        free = self.free(self.folder)
        if needed > free:
            raise PullFailed(_full(self.folder, needed, free))

    def _finish(self, hashes: dict[str, str]) -> None:
        write_marker(self.folder, hashes)
        self.stage.clear()


def choose(model: HubModel, listing: Iterable[Listed]) -> list[Listed]:
    """The files of the repository that the model consists of. Raises PullFailed."""
    files = {listed.file: listed for listed in listing}
    if model.file is not None:
        if model.file not in files:
            raise PullFailed(f"{model.repo} has no file {model.file}")
        return [files[model.file]]
    if "config.json" in files:
        return [
            listed
            for file, listed in sorted(files.items())
            if "/" not in file and any(fnmatch.fnmatch(file, each) for each in DIRECTORY_FILES)
        ]
    ggufs = ", ".join(file for file in sorted(files) if file.endswith(".gguf"))
    hint = f"name one of its files: {ggufs}" if ggufs else "nor a GGUF file"
    raise PullFailed(f"{model.repo} has no config.json; {hint}")


def _difference(wanted: Listed, size: int, sha256: str) -> str:
    """The size first: of a file that is too long only the beginning was read."""
    if size > wanted.size:
        return f"has more than {wanted.size:,} bytes, and was removed"
    if size < wanted.size:
        return f"has {size:,} bytes, not {wanted.size:,}, and was removed"
    if wanted.sha256 not in (None, sha256):
        return f"has the SHA-256 {sha256}, not {wanted.sha256}, and was removed"
    return ""


def _full(folder: Path, needed: int, free: int) -> str:
    return f"the disk of {folder} is full: {needed:,} bytes are needed, {free:,} are free"
