"""Fixtures that every test may use."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from vilfredo.weights.catalog import CATALOG
from vilfredo.weights.store import ModelStore


@pytest.fixture(scope="session")
def model_path() -> Callable[[str], Path]:
    """The cached file of a catalog model; skips where it has not been pulled.

    VILFREDO_REQUIRE_MODELS=1 (as `make test` sets it) turns the skip into a failure for every
    model but the large one.
    """
    store = ModelStore.default()

    def find(name: str) -> Path:
        path = store.find(CATALOG[name])
        if path is not None:
            return path
        if os.environ.get("VILFREDO_REQUIRE_MODELS") and name != "qwen2.5-coder-1.5b":
            pytest.fail(f"{name} is not in the cache: run `vilfredo pull {name}`")
        pytest.skip(f"{name} is not in the cache")

    return find
