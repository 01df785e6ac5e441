"""`GET /v1/models` and `GET /v1/models/{model}`"""

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from vilfredo.server.errors import ApiError
from vilfredo.server.service import Service


class Model(msgspec.Struct, kw_only=True):
    id: str
    object: str = "model"
    created: int
    owned_by: str = "vilfredo"
    max_model_len: int  # the context, under vLLM's name


class Models(msgspec.Struct):
    data: list[Model]
    object: str = "list"


def check_model(service: Service, name: str) -> None:
    if name != service.served_name:
        message = f"model: {name!r} is not served here; {service.served_name!r} is"
        raise ApiError(404, message, param="model", code="model_not_found")


async def list_models(service: Service, request: Request) -> Response:
    return _response(Models([_model(service)]))


async def show_model(service: Service, request: Request) -> Response:
    check_model(service, request.path_params["model"])
    return _response(_model(service))


def _model(service: Service) -> Model:
    return Model(id=service.served_name, created=service.created, max_model_len=service.context)


def _response(value: Model | Models) -> Response:
    return Response(msgspec.json.encode(value), media_type="application/json")
