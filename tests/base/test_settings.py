from pathlib import Path
from typing import Any

import pytest

from vilfredo.base.errors import InvalidInput
from vilfredo.base.settings import AUTO, Settings, load_settings


def test_nothing_asked_leaves_auto_where_it_may_stand():
    settings = load_settings({}, {})
    assert settings == Settings()
    assert (settings.table, settings.threads, settings.context) == (AUTO, AUTO, AUTO)


def test_flags_win_over_environment_over_toml(tmp_path: Path):
    toml = tmp_path / "vilfredo.toml"
    toml.write_text('port = 1\nthreads = 1\ncontext = 1\nhost = "toml"')
    environment = {"VILFREDO_THREADS": "2", "VILFREDO_CONTEXT": "2", "THREADS": "9"}
    settings = load_settings({"context": 3}, environment, toml)
    assert (settings.host, settings.port, settings.threads, settings.context) == ("toml", 1, 2, 3)


def test_text_becomes_the_kind_of_its_field():
    environment = {"VILFREDO_KV_MEGABYTES": "64", "VILFREDO_MODEL": "7", "VILFREDO_THREADS": AUTO}
    settings = load_settings({"port": "80", "served_name": "mine"}, environment)
    assert (settings.kv_megabytes, settings.model, settings.threads) == (64, "7", AUTO)
    assert (settings.port, settings.served_name) == (80, "mine")


@pytest.mark.parametrize(
    ("field", "value", "says"),
    [
        ("threads", "many", "whole number"),
        ("threads", 0, "positive"),
        ("token_budget", AUTO, "whole number"),  # only some fields may be left open
        ("token_budget", -1, "positive"),
        ("max_sequences", True, "whole number"),
        ("context", 1.5, "whole number"),
        ("context", None, "whole number"),
        ("host", 127, "text"),
        ("model", None, "text"),
        ("served_name", 1, "text"),
        ("port", -1, "positive"),
        ("port", 65536, "below 65536"),
        ("threads", 1025, "at most 1024"),
        ("model", "", "must be text, not ''"),
    ],
)
def test_a_bad_value_names_its_field(field: str, value: Any, says: str):
    with pytest.raises(InvalidInput, match=says) as caught:
        load_settings({field: value}, {})
    assert caught.value.field == field


def test_port_zero_asks_the_system_for_one():
    assert Settings(port=0).port == 0


def test_a_bad_variable_names_its_field():
    with pytest.raises(InvalidInput, match="'x'") as caught:
        load_settings({}, {"VILFREDO_MAX_WAITING": "x"})
    assert caught.value.field == "max_waiting"


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"threds = 2", "threds: is not a setting"),
        (b"threads = ", "Invalid value"),
        (b"model = '\xff'", "decode"),
        (b"threads = '2'", "whole number"),
    ],
)
def test_a_bad_file_says_why(tmp_path: Path, content: bytes, says: str):
    toml = tmp_path / "vilfredo.toml"
    toml.write_bytes(content)
    with pytest.raises(InvalidInput, match=says):
        load_settings({}, {}, toml)


def test_a_missing_file_is_named(tmp_path: Path):
    with pytest.raises(InvalidInput, match=r"none\.toml"):
        load_settings({}, {}, tmp_path / "none.toml")
