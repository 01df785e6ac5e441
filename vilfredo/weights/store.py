"""The models on this machine: found if they are whole and verified, else pulled.

A model's folder holds its files, a marker of what was verified, a lock, and while a pull goes on
a stage. A file gets its name only once its SHA-256 is right.
"""

import difflib
import os
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import assert_never

from vilfredo.base.cache import cache_root
from vilfredo.base.errors import InvalidInput, PullFailed
from vilfredo.weights.catalog import CATALOG, Entry, HubModel, Model
from vilfredo.weights.lock import locked
from vilfredo.weights.marker import read_marker
from vilfredo.weights.progress import Progress, silent
from vilfredo.weights.pull import Pull
from vilfredo.weights.remote import PipAndHub, Remote
from vilfredo.weights.stage import Create, Stage, create_file


def free_bytes(folder: Path) -> int:
    return shutil.disk_usage(folder).free


class ModelStore:
    def __init__(
        self,
        root: Path,
        remote: Remote | None = None,
        free: Callable[[Path], int] = free_bytes,
        create: Create = create_file,
    ) -> None:
        self.root = root
        self._remote = remote or PipAndHub()
        self._free = free
        self._create = create

    @classmethod
    def default(cls, environment: Mapping[str, str] = os.environ) -> "ModelStore":
        return cls(cache_root(environment))

    def resolve(self, name: str) -> Path | Model:
        """What a user's word for a model means: a catalog name, hf:ORG/REPO[/FILE] or a path.
        Raises InvalidInput for what is none of them, with what is near."""
        if name in CATALOG:
            return CATALOG[name]
        if name.startswith("hf:"):
            return HubModel.parse(name)
        path = Path(name).expanduser()
        if path.exists():
            return path
        near = [known for known in CATALOG if name.lower() in known]
        near = near or difflib.get_close_matches(name.lower(), CATALOG)
        hint = f"did you mean {' or '.join(near)}?" if near else f"known: {', '.join(CATALOG)}"
        raise InvalidInput("model", f"{name!r} is neither a path nor in the catalog; {hint}")

    def find(self, model: Model) -> Path | None:
        """The model's file or directory if it is whole, verified and unchanged since."""
        folder = self.root / model.folder
        verified = read_marker(folder)
        match model:
            case Entry(file=file, sha256=sha256):
                return folder / file if verified.get(file) == sha256 else None
            case HubModel(file=file) if verified:
                return folder / Path(file).name if file else folder
            case HubModel():
                return None
            case _:
                assert_never(model)

    def pull(self, model: Model, progress: Progress = silent) -> Path:
        """As `find`, but fetches what is not here. Raises PullFailed, and then has put nothing
        in the model's place."""
        if found := self.find(model):
            return found
        folder = self.root / model.folder
        stage = Stage(folder / "stage", self._remote, self._create, progress)
        try:
            folder.mkdir(parents=True, exist_ok=True)
            with locked(folder / "lock", lambda: progress(0, 0, "waiting for another pull")):
                if found := self.find(model):
                    return found
                self._fill(model, Pull(folder, stage, self._free))
        except PullFailed as error:
            raise PullFailed(f"{model.name} could not be pulled: {error}") from error
        except OSError as error:
            reason = f"{error.filename or folder}: {error.strerror}"
            raise PullFailed(f"{model.name} could not be pulled: {reason}") from error
        if found := self.find(model):
            return found
        raise PullFailed(f"{model.name} was changed by somebody while it was pulled")

    def _fill(self, model: Model, pull: Pull) -> None:
        match model:
            case Entry():
                pull.entry(model)
            case HubModel():
                pull.hub(model)
            case _:
                assert_never(model)
