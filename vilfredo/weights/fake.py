"""A world of packages and repositories in memory, for tests of what pulls from one."""

import hashlib
import io
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from vilfredo.base.errors import PullFailed
from vilfredo.weights.catalog import HubFile
from vilfredo.weights.remote import Listed


def wheel_of(members: Mapping[str, bytes]) -> bytes:
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as wheel:
        for member, data in members.items():
            wheel.writestr(member, data)
    return archive.getvalue()


def nothing(what: str) -> None:
    """For worlds that do not fail."""


@dataclass(slots=True)
class FakeRemote:
    """`asked` is what was fetched, in order. `before` is called at each fetch once it has left
    something half done behind: it may raise, or wait."""

    wheels: dict[str, bytes] = field(default_factory=dict)  # by requirement
    repos: dict[str, dict[str, bytes]] = field(default_factory=dict)
    states_hashes: bool = True  # whether the hub does
    before: Callable[[str], None] = nothing
    asked: list[str] = field(default_factory=list)

    def wheel(self, requirement: str, folder: Path) -> Path:
        return self._fetch(requirement, folder / "some.whl", self.wheels.get(requirement))

    def hub_file(self, file: HubFile, folder: Path) -> Path:
        data = self.repos.get(file.repo, {}).get(file.file)
        return self._fetch(str(file), folder / file.file, data)

    def hub_listing(self, repo: str) -> tuple[Listed, ...]:
        if repo not in self.repos:
            raise PullFailed(f"hf:{repo}: no such repository")
        return tuple(
            Listed(
                file, len(data), hashlib.sha256(data).hexdigest() if self.states_hashes else None
            )
            for file, data in self.repos[repo].items()
        )

    def _fetch(self, what: str, path: Path, data: bytes | None) -> Path:
        self.asked.append(what)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes((data or b"")[: len(data or b"") // 2])
        self.before(what)
        if data is None:
            raise PullFailed(f"{what}: no such thing")
        path.write_bytes(data)
        return path
