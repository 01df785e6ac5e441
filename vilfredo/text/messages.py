"""Brings chat messages into the form that templates expect; finds a mark for what users wrote."""

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from vilfredo.base.errors import InvalidInput

ROLES = ("system", "developer", "user", "assistant", "tool")
# Private-use characters, of which one that the conversation does not hold becomes its mark.
_MARKS = range(0xF0000, 0xFFFFE)


def choose_mark(texts: Sequence[str]) -> str:
    """A character that is not in the texts, nor is its JSON escape."""
    joined = "\0".join(texts)
    used = set(joined)
    for code in _MARKS:
        mark = chr(code)
        if mark not in used and escaped(mark) not in joined:
            return mark
    raise InvalidInput("messages", "hold every character of a private-use plane")


def escaped(mark: str) -> str:
    """How JSON in ASCII writes the mark."""
    return json.dumps(mark)[1:-1]


def normalize(messages: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Content as one string (text parts are joined by line breaks, none is empty), arguments of
    tool calls as objects where they are JSON, no fields that are None."""
    if not messages:
        raise InvalidInput("messages", "must not be empty")
    return [_normalize(message, f"messages[{index}]") for index, message in enumerate(messages)]


def _normalize(message: Mapping[str, Any], field: str) -> dict[str, Any]:
    if not isinstance(message, Mapping):
        raise InvalidInput(field, "must be an object")
    if message.get("role") not in ROLES:
        raise InvalidInput(f"{field}.role", f"must be one of {', '.join(ROLES)}")
    plain = {key: value for key, value in message.items() if value is not None}
    plain["content"] = _text(message.get("content"), f"{field}.content")
    if "tool_calls" in plain:
        if not isinstance(plain["tool_calls"], list):
            raise InvalidInput(f"{field}.tool_calls", "must be a list")
        plain["tool_calls"] = [_tool_call(call) for call in plain["tool_calls"]]
    return plain


def _text(content: Any, field: str) -> str:
    match content:
        case None:
            return ""
        case str():
            return content
        case list():
            return "\n".join(_part(part, f"{field}[{i}]") for i, part in enumerate(content))
    raise InvalidInput(field, "must be a string or a list of parts")


def _part(part: Any, field: str) -> str:
    match part:
        case {"type": "text", "text": str(text)}:
            return text
        case {"type": str(kind)}:
            raise InvalidInput(field, f"parts of type {kind!r} are not supported")
    raise InvalidInput(field, "must be a text part")


def _tool_call(call: Any) -> Any:
    """OpenAI's clients send arguments as a string of JSON; templates want what it says."""
    match call:
        case {"function": {"arguments": str(text)} as function}:
            try:
                arguments = json.loads(text)
            except (ValueError, RecursionError):
                return call
            if not isinstance(arguments, dict):
                return call
            return {**call, "function": {**function, "arguments": arguments}}
    return call


def map_strings(value: Any, change: Callable[[str], str]) -> Any:
    """The value with every string in it changed, names of fields included.

    Raises RecursionError for a value that is nested too deeply.
    """
    match value:
        case str():
            return change(value)
        case Mapping():
            return {map_strings(k, change): map_strings(v, change) for k, v in value.items()}
        case list() | tuple():
            return [map_strings(item, change) for item in value]
    return value
