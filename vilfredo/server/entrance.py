"""What every request passes: it gets an id, is counted, and is turned away while we drain."""

from collections.abc import Mapping
from typing import Any

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from vilfredo.server.errors import as_api_error, draining, error_response
from vilfredo.server.metrics import Metrics
from vilfredo.server.service import Service

MOST_ID = 128  # characters of a client's own request id


class Entrance:
    """`paths` are the routes' patterns by endpoint: few labels, whatever clients ask for."""

    def __init__(
        self, app: ASGIApp, service: Service, metrics: Metrics, paths: Mapping[Any, str]
    ) -> None:
        self._app = app
        self._service = service
        self._metrics = metrics
        self._paths = paths

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        status: int | None = None  # none yet
        request_id = self._request_id(scope)

        async def tagged(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                MutableHeaders(scope=message)["x-request-id"] = request_id
            await send(message)

        try:
            if scope["method"] == "POST":
                await self._work(scope, receive, tagged)
            else:
                await self._app(scope, receive, tagged)
        except Exception as error:
            if status is None:
                await error_response(as_api_error(error))(scope, receive, tagged)
            raise  # a fault of ours: the server below writes its traceback
        finally:
            path = self._paths.get(scope.get("endpoint"), "other")
            self._metrics.http.labels(path, str(status or 500)).inc()

    async def _work(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Only POST is work: models, health and metrics can be had to the end."""
        if self._service.gate.draining:
            await error_response(draining())(scope, receive, send)
            return
        with self._service.gate.visit():
            await self._app(scope, receive, send)

    def _request_id(self, scope: Scope) -> str:
        given = Headers(scope=scope).get("x-request-id", "")
        if 0 < len(given) <= MOST_ID and given.isascii() and given.isprintable():
            return given
        return self._service.draw_id("req")
