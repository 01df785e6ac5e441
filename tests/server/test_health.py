import pytest

from vilfredo.engine.door import Health


@pytest.mark.parametrize(
    ("health", "ready", "healthy"),
    [
        (Health(True, True, True), 200, 200),
        (Health(True, True, False, "no step has ended for 90 s"), 200, 503),
        (Health(True, False, True, "loading"), 503, 503),
        (Health(False, False, False, "the engine died"), 503, 503),
    ],
)
async def test_the_engine_s_state(client, door, health, ready, healthy) -> None:
    door.health_now = health
    assert (await client.get("/live")).status_code == 200
    for path, status in (("/ready", ready), ("/health", healthy)):
        response = await client.get(path)
        assert response.status_code == status
        assert response.json()["reason"] == ("" if status == 200 else health.reason)


async def test_draining_is_not_ready_but_healthy(client, service) -> None:
    service.gate.draining = True
    response = await client.get("/ready")
    assert response.status_code == 503
    assert response.json() == {"status": "unavailable", "reason": "the server is shutting down"}
    assert (await client.get("/health")).status_code == 200
