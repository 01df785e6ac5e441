import pytest


@pytest.mark.parametrize("path", ["/", "/v1", "/v1/models/", "/v1/embeddings", "/docs"])
async def test_unknown_paths(client, path) -> None:
    response = await client.get(path)
    if path == "/v1/models/":
        assert response.json()["error"]["code"] == "model_not_found"
    else:
        assert response.json()["error"]["code"] == "not_found"
        assert path in response.json()["error"]["message"]
    assert response.status_code == 404


async def test_a_wrong_method(client) -> None:
    response = await client.get("/v1/completions")
    assert response.status_code == 405
    assert response.headers["allow"] == "POST"
    assert response.json()["error"]["code"] == "method_not_allowed"


async def test_models(client) -> None:
    model = {
        "id": "tiny",
        "object": "model",
        "created": 1_700_000_000,
        "owned_by": "vilfredo",
        "max_model_len": 200,
    }
    assert (await client.get("/v1/models")).json() == {"object": "list", "data": [model]}
    assert (await client.get("/v1/models/tiny")).json() == model
    response = await client.get("/v1/models/org/other")
    assert response.status_code == 404
    assert response.json()["error"]["code"] == "model_not_found"


async def test_a_request_id_is_echoed_or_made(client) -> None:
    given = await client.get("/live", **{"x-request-id": "mine"})
    assert given.headers["x-request-id"] == "mine"
    for bad in ("", "x" * 129, "é"):
        made = await client.http.get("/live", headers={"x-request-id": bad.encode()})
        assert made.headers["x-request-id"].startswith("req-")


async def test_a_fault_of_ours_keeps_the_request_id(client, door) -> None:
    door.answer = lambda request: 1 / 0
    for stream in (False, True):
        body = {"model": "tiny", "prompt": "a", "stream": stream}
        response = await client.http.post(
            "/v1/completions", json=body, headers={"x-request-id": "mine"}
        )
        assert response.status_code == 500
        assert response.headers["x-request-id"] == "mine"
        assert response.json()["error"]["code"] == "internal_error"
    labels = {"path": "/v1/completions", "status": "500"}
    assert await client.metric("http_requests_total", **labels) == 2


async def test_other_protocols_pass_through(service) -> None:
    """Starlette closes a websocket that nobody takes."""
    from vilfredo.server.app import build_app

    sent = []

    async def receive():
        return {"type": "websocket.connect"}

    async def send(message):
        sent.append(message["type"])

    await build_app(service)({"type": "websocket", "path": "/live", "headers": []}, receive, send)
    assert sent == ["websocket.close"]


async def test_while_draining_only_work_is_turned_away(client, service) -> None:
    service.gate.draining = True
    response = await client.complete()
    assert response.status_code == 503
    assert response.headers["x-vilfredo-reason"] == "draining"
    assert response.headers["retry-after"] == "10"
    assert response.json()["error"]["code"] == "draining"
    assert (await client.get("/v1/models")).status_code == 200
