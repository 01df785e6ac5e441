import json
from pathlib import Path
from typing import Any

import pytest

from vilfredo.base.errors import BadFile
from vilfredo.text.hubfiles import find_ends, find_template, read_json, spellings

IDS = {"a": 0, "</s>": 1, "<e>": 2}


def write(directory: Path, name: str, value: Any) -> None:
    (directory / name).write_text(value if isinstance(value, str) else json.dumps(value))


def test_reads_json_objects_only(tmp_path: Path) -> None:
    assert read_json(tmp_path / "none.json") == {}
    for broken in ("{", "[" * 100_000):
        write(tmp_path, "x.json", broken)
        with pytest.raises(BadFile, match=r"x\.json: is no JSON: "):
            read_json(tmp_path / "x.json")
    write(tmp_path, "x.json", [1])
    with pytest.raises(BadFile, match=r"x\.json: is no JSON object"):
        read_json(tmp_path / "x.json")


def test_special_tokens_by_role() -> None:
    settings = {"bos_token": "<s>", "eos_token": {"content": "</s>"}, "pad_token": None, "x": "y"}
    assert spellings(settings) == {"bos_token": "<s>", "eos_token": "</s>"}


def test_ends_of_every_file(tmp_path: Path) -> None:
    assert find_ends(tmp_path, {}, IDS) == set()
    assert find_ends(tmp_path, {"eos_token_id": 0}, IDS) == {0}
    write(tmp_path, "generation_config.json", {"eos_token_id": [1, 2]})
    assert find_ends(tmp_path, {"eos_token_id": 0}, IDS) == {0, 1, 2}
    write(tmp_path, "generation_config.json", {})
    write(tmp_path, "tokenizer_config.json", {"eos_token": "<e>"})
    assert find_ends(tmp_path, {}, IDS) == {2}
    write(tmp_path, "tokenizer_config.json", {"eos_token": "<none>"})
    assert find_ends(tmp_path, {}, IDS) == set()
    with pytest.raises(BadFile, match="eos_token_id: the tokenizer has no token 3"):
        find_ends(tmp_path, {"eos_token_id": [0, 3]}, IDS)


@pytest.mark.parametrize(
    ("settings", "source"),
    [
        ({}, None),
        ({"chat_template": "T"}, "T"),
        ({"chat_template": [{"name": "rag"}, {"name": "default", "template": "T"}]}, "T"),
        ({"chat_template": [{"name": "tool_use", "template": "T"}]}, None),
    ],
)
def test_template_of_the_settings(tmp_path: Path, settings: Any, source: str | None) -> None:
    write(tmp_path, "tokenizer_config.json", settings)
    assert find_template(tmp_path) == (source, tmp_path / "tokenizer_config.json")


def test_a_template_file_goes_before_the_settings(tmp_path: Path) -> None:
    write(tmp_path, "tokenizer_config.json", {"chat_template": 7})
    with pytest.raises(BadFile, match="chat_template is no string"):
        find_template(tmp_path)
    file = tmp_path / "chat_template.jinja"
    file.write_text("T")
    assert find_template(tmp_path) == ("T", file)
    file.write_bytes(b"\xff")
    with pytest.raises(BadFile, match="is no UTF-8"):
        find_template(tmp_path)
