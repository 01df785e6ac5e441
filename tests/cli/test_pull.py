"""Pulls from a hub in memory."""

import pytest

from vilfredo.weights.fake import FakeRemote
from vilfredo.weights.store import ModelStore


@pytest.fixture
def remote(monkeypatch, empty_cache, tiny_gguf) -> FakeRemote:
    remote = FakeRemote(repos={"org/repo": {"tiny.gguf": tiny_gguf.read_bytes()}})
    store = ModelStore(empty_cache, remote)
    monkeypatch.setattr(ModelStore, "default", lambda: store)
    return remote


def test_a_pulled_model_is_where_it_says_and_is_not_pulled_again(vilfredo, remote, empty_cache):
    first = vilfredo("pull", "hf:org/repo/tiny.gguf")
    assert first.code == 0
    assert first.out == f"hf:org/repo/tiny.gguf: {empty_cache}/hub/org--repo--tiny.gguf/tiny.gguf\n"
    assert "tiny.gguf" in first.err  # the bar
    asked = len(remote.asked)
    second = vilfredo("pull", "hf:org/repo/tiny.gguf")
    assert (second.out, second.err) == (first.out, "")
    assert len(remote.asked) == asked


def test_a_command_pulls_what_it_needs(vilfredo, remote):
    ended = vilfredo(
        "generate", "hi", "-m", "hf:org/repo/tiny.gguf", "--table", "reference", "--max-tokens", "2"
    )
    assert ended.code == 0
    assert remote.asked


def test_a_pull_that_fails_says_so_and_why(vilfredo, remote):
    ended = vilfredo("pull", "hf:org/other")
    assert (ended.code, ended.out) == (1, "")
    last = ended.err.splitlines()[-1]
    assert last.startswith("vilfredo: hf:org/other could not be pulled: ")
    assert "no such repository" in last
