"""The HTTP application: OpenAI's endpoints, and those that whoever runs a server needs."""

from functools import partial

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route

from vilfredo.base.errors import VilfredoError
from vilfredo.server.chat import chat_completions
from vilfredo.server.completions import completions
from vilfredo.server.entrance import Entrance
from vilfredo.server.errors import ApiError, as_api_error, error_response
from vilfredo.server.health import healthy, live, ready
from vilfredo.server.metrics import Metrics, scrape
from vilfredo.server.models import list_models, show_model
from vilfredo.server.service import Service

LEFT = 499  # the client left before it was answered; nobody reads this but the metrics


def build_app(service: Service) -> Starlette:
    metrics = Metrics(service.door, service.served_name)
    routes = [
        Route(
            "/v1/chat/completions", partial(chat_completions, service, metrics), methods=["POST"]
        ),
        Route("/v1/completions", partial(completions, service, metrics), methods=["POST"]),
        Route("/v1/models", partial(list_models, service)),
        Route("/v1/models/{model:path}", partial(show_model, service)),
        Route("/live", partial(live, service)),
        Route("/ready", partial(ready, service)),
        Route("/health", partial(healthy, service)),
        Route("/metrics", partial(scrape, metrics)),
    ]
    paths = {route.endpoint: route.path for route in routes}
    app = Starlette(
        routes=routes,
        middleware=[Middleware(Entrance, service=service, metrics=metrics, paths=paths)],
        exception_handlers={
            VilfredoError: _answer_error,
            HTTPException: _answer_routing,
            ClientDisconnect: _answer_nobody,
        },
    )
    app.router.redirect_slashes = False
    return app


async def _answer_error(request: Request, error: Exception) -> Response:
    return error_response(as_api_error(error))


async def _answer_routing(request: Request, error: Exception) -> Response:
    """Starlette's own: no such path, or not by this method."""
    assert isinstance(error, HTTPException)
    code = "method_not_allowed" if error.status_code == 405 else "not_found"
    message = f"{error.detail}: {request.method} {request.url.path}"
    response = error_response(ApiError(error.status_code, message, code=code))
    response.headers.update(error.headers or {})
    return response


async def _answer_nobody(request: Request, error: Exception) -> Response:
    return Response(status_code=LEFT)
