"""The papers say what is true: the tree in docs/architecture.md is the tree on the disk."""

import re
from pathlib import Path

ROOT = Path(__file__).parent.parent
CODE = {".py", ".cpp", ".h"}


def documented() -> dict[str, set[str]]:
    """Folder -> what the tree names in it: files of code, without their suffixes."""
    text = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    tree = re.search(r"```tree\n(.*?)```", text, re.DOTALL)
    assert tree, "docs/architecture.md has no ```tree block"
    folders: dict[str, set[str]] = {}
    folder = ""
    for line in tree[1].splitlines():
        first, *names = line.split()
        if first.endswith("/"):
            folder = first.rstrip("/")
            folders[folder] = set()
        else:  # the folder's line goes on
            names.insert(0, first)
        folders[folder].update(names)
    return folders


def on_disk() -> dict[str, set[str]]:
    folders = {}
    for top in ("vilfredo", "csrc"):
        for folder in [ROOT / top, *(ROOT / top).rglob("*/")]:
            files = {file for file in folder.iterdir() if file.suffix in CODE}
            if files:
                names = {file.stem for file in files if file.name != "__init__.py"}
                folders[folder.relative_to(ROOT).as_posix()] = names
    return folders


def test_the_tree_is_the_tree_on_the_disk():
    assert documented() == on_disk()


def test_dependencies_are_explained():
    pyproject = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    explained = (ROOT / "docs" / "dependencies.md").read_text(encoding="utf-8")
    named = set(re.findall(r'"([a-z][\w-]*)(?:\[\w+\])?>=', pyproject))
    assert len(named) > 10
    assert [name for name in sorted(named) if name not in explained] == []
