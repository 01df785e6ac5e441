"""Reads a JSON object into a struct, naming the field that is at fault.

A field is honored or refused by name, never ignored; null is the same as absent. Of fields that are
not served, the value that asks for nothing (a neutral one) is taken, so that clients which always
send it work; any other is refused.
"""

import re
from collections.abc import Mapping
from typing import Any, TypeVar

import msgspec

from vilfredo.server.errors import ApiError, bad_field

Neutral = Mapping[str, tuple[Any, ...]]  # fields that are not served: values that ask for nothing
Fields = TypeVar("Fields", bound=msgspec.Struct)

_PLACE = re.compile(r" - at (?:`key` in )?`\$\.?([^`]*)`$")
_UNKNOWN = re.compile(r"Object contains unknown field `(.*)`", re.DOTALL)  # of a struct within
_MISSING = re.compile(r"Object missing required field `(.*)`")


def read_fields(
    raw: Mapping[str, Any], kind: type[Fields], neutral: Neutral, path: str = ""
) -> Fields:
    """Raises ApiError (400) by the field's name; `path` is where the object lies in the body."""
    given: dict[str, Any] = {}
    for name, value in raw.items():
        if value is None:
            continue
        if name in kind.__struct_fields__:
            given[name] = value
        elif name not in neutral:
            raise _unknown(_join(path, name))
        elif not any(type(value) is type(each) and value == each for each in neutral[name]):
            param = _join(path, name)
            raise bad_field(param, "is not supported by this server", "unsupported_parameter")
    try:
        return msgspec.convert(given, kind)
    except msgspec.ValidationError as error:
        raise _named(str(error), path) from None


def _named(message: str, path: str) -> ApiError:
    place = _PLACE.search(message)
    if place is not None:
        message = message[: place.start()]
        path = _join(path, place[1])
    if unknown := _UNKNOWN.fullmatch(message):
        return _unknown(_join(path, unknown[1]))
    if missing := _MISSING.fullmatch(message):
        param, code, message = _join(path, missing[1]), "missing_required_parameter", "is missing"
    else:
        param, code = path, "invalid_value"
        message = message[0].lower() + message[1:]
    return bad_field(param, message, code)


def _unknown(param: str) -> ApiError:
    return bad_field(param, "is no known field", "unknown_parameter")


def _join(path: str, name: str) -> str:
    return f"{path}{name}" if not path or name.startswith("[") else f"{path}.{name}"
