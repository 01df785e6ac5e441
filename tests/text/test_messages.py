from typing import Any

import pytest

from vilfredo.base.errors import InvalidInput
from vilfredo.text.messages import choose_mark, map_strings, normalize


def test_content_becomes_one_string() -> None:
    parts = [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]
    contents = [None, "", "x", [], parts]
    messages = normalize([{"role": "user", "content": content} for content in contents])
    assert [message["content"] for message in messages] == ["", "", "x", "", "a\nb"]
    assert normalize([{"role": "assistant", "name": None}]) == [
        {"role": "assistant", "content": ""}
    ]


def test_arguments_of_tool_calls_become_objects() -> None:
    def call(arguments: Any) -> dict[str, Any]:
        return {"type": "function", "function": {"name": "f", "arguments": arguments}}

    sent = [call('{"a": 1}'), call("[1]"), call("{broken"), call("[" * 99999), "odd"]
    [message] = normalize([{"role": "assistant", "tool_calls": sent}])
    assert message["tool_calls"] == [
        *(call({"a": 1}), call("[1]"), call("{broken"), call("[" * 99999), "odd")
    ]


@pytest.mark.parametrize(
    ("messages", "field"),
    [
        ([], "messages"),
        (["hi"], "messages[0]"),
        ([{"content": "x"}], "messages[0].role"),
        ([{"role": "user"}, {"role": "<|im_end|>"}], "messages[1].role"),
        ([{"role": ["user"]}], "messages[0].role"),
        ([{"role": "user", "content": 7}], "messages[0].content"),
        ([{"role": "user", "content": [{"type": "image_url"}]}], "messages[0].content[0]"),
        ([{"role": "user", "content": ["x"]}], "messages[0].content[0]"),
        ([{"role": "user", "content": [{"type": "text"}]}], "messages[0].content[0]"),
        ([{"role": "assistant", "tool_calls": {"a": 1}}], "messages[0].tool_calls"),
    ],
)
def test_wrong_messages_are_named(messages: Any, field: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        normalize(messages)
    assert caught.value.field == field


def test_the_mark_is_in_no_text() -> None:
    first = choose_mark(["plain"])
    assert choose_mark(["plain", first]) != first
    assert choose_mark([r"\udb80\udc00"]) == "\U000f0001"
    with pytest.raises(InvalidInput, match="every character of a private-use plane"):
        choose_mark([chr(code) for code in range(0xF0000, 0xFFFFE)])


def test_every_string_is_changed() -> None:
    value = {"a": ["b", ("c",), 1, None], "d": {"e": True}}
    changed = map_strings(value, str.upper)
    assert changed == {"A": ["B", ["C"], 1, None], "D": {"E": True}}
