"""How errors look to a client: OpenAI's shape, a status, and for a lack of capacity when to come
back. Never shows what an unforeseen exception says."""

import math

import msgspec
from starlette.responses import Response

from vilfredo.base.errors import EngineDied, InvalidInput, Overloaded, VilfredoError

ENGINE_RETRY = 5.0  # seconds in which a dead engine may be up again
DRAINING_RETRY = 10.0  # seconds in which another process may have taken over


class ApiError(VilfredoError):
    def __init__(
        self,
        status: int,
        message: str,
        *,
        kind: str = "invalid_request_error",
        param: str | None = None,
        code: str | None = None,
        retry_after: float | None = None,
    ) -> None:
        super().__init__(message)
        self.status = status
        self.kind = kind
        self.param = param
        self.code = code
        self.retry_after = retry_after


def bad_field(param: str, reason: str, code: str = "invalid_value") -> ApiError:
    return ApiError(400, f"{param}: {reason}", param=param, code=code)


class GenerationFailed(VilfredoError):
    """The engine ended a request without a result: the message is its reason."""


class ErrorBody(msgspec.Struct):
    message: str
    type: str
    param: str | None
    code: str | None


class ErrorAnswer(msgspec.Struct):
    error: ErrorBody


def as_api_error(error: Exception) -> ApiError:
    match error:
        case ApiError():
            return error
        case InvalidInput():
            return bad_field(error.field, error.reason)
        case Overloaded():
            return _no_capacity(str(error), "queue_full", error.retry_after)
        case EngineDied():
            return _no_capacity(str(error), "engine_died", ENGINE_RETRY)
        case GenerationFailed():
            return ApiError(500, str(error), kind="server_error", code="generation_failed")
        case _:
            return ApiError(500, "an internal error", kind="server_error", code="internal_error")


def draining() -> ApiError:
    return _no_capacity("the server is shutting down", "draining", DRAINING_RETRY)


def _no_capacity(message: str, code: str, retry_after: float) -> ApiError:
    return ApiError(503, message, kind="overloaded_error", code=code, retry_after=retry_after)


def error_body(error: ApiError) -> bytes:
    return msgspec.json.encode(
        ErrorAnswer(ErrorBody(str(error), error.kind, error.param, error.code))
    )


def error_response(error: ApiError) -> Response:
    headers: dict[str, str] = {}
    if error.retry_after is not None:
        headers["retry-after"] = str(math.ceil(error.retry_after))
        headers["x-vilfredo-reason"] = str(error.code)
    return Response(error_body(error), error.status, headers, "application/json")
