"""`GET /live`, `/ready` and `/health`: whether to restart, to send requests, to worry.

Live: this process answers. Ready: requests are taken. Healthy: and while there is work, steps end;
a long prompt is work, not illness.
"""

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from vilfredo.server.service import Service


class Status(msgspec.Struct):
    status: str
    reason: str = ""


async def live(service: Service, request: Request) -> Response:
    return _response(True, "")


async def ready(service: Service, request: Request) -> Response:
    health = service.door.health()
    if service.gate.draining:
        return _response(False, "the server is shutting down")
    return _response(health.alive and health.ready, health.reason)


async def healthy(service: Service, request: Request) -> Response:
    health = service.door.health()
    return _response(health.alive and health.ready and health.progressing, health.reason)


def _response(good: bool, reason: str) -> Response:
    status = Status("ok") if good else Status("unavailable", reason)
    return Response(
        msgspec.json.encode(status), 200 if good else 503, media_type="application/json"
    )
