"""What is told while a tool fills a folder."""

import threading
from pathlib import Path

from vilfredo.weights.progress import bytes_in, watched


def test_a_folder_is_watched_until_the_tool_is_done(tmp_path: Path) -> None:
    told: list[tuple[int, int, str]] = []
    seen = threading.Event()

    def progress(done: int, total: int, label: str) -> None:
        told.append((done, total, label))
        if done == 100:  # what the folder may hold beside the model is not counted
            seen.set()

    with watched(tmp_path, 100, "downloading", progress, seconds=0.001):
        (tmp_path / "deep").mkdir()
        (tmp_path / "deep/file").write_bytes(bytes(150))
        assert seen.wait(10)
    count = len(told)
    assert told[0] == (0, 100, "downloading")
    assert told[-1] == (100, 100, "downloading")
    (tmp_path / "deep/file").unlink()
    assert len(told) == count


def test_links_that_lead_nowhere_and_absent_folders_hold_nothing(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "absent")
    assert bytes_in(tmp_path) == bytes_in(tmp_path / "absent") == 0
