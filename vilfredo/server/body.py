"""Reads a request's body, bounded, as one JSON object."""

from typing import Any

import msgspec
from starlette.requests import Request

from vilfredo.server.errors import ApiError


async def read_object(request: Request, most_bytes: int) -> dict[str, Any]:
    """Raises ApiError: 413 for too large a body, 400 for what is no JSON object.

    The content type is not looked at, as OpenAI does not.
    """
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > most_bytes:
            raise ApiError(413, f"the body is over {most_bytes} bytes", code="body_too_large")
    try:
        value = msgspec.json.decode(body)
    except msgspec.DecodeError as error:
        raise ApiError(400, f"the body is no JSON: {_place(body, error)}") from None
    except RecursionError:
        raise ApiError(400, "the body is nested too deeply") from None
    if not isinstance(value, dict):
        raise ApiError(400, "the body must be a JSON object")
    return value


def _place(body: bytearray, error: msgspec.DecodeError) -> str:
    """What is wrong and at which byte, which the decoder does not tell for invalid UTF-8."""
    try:
        body.decode()
    except UnicodeDecodeError as found:
        return f"invalid UTF-8 (byte {found.start})"
    return str(error)
