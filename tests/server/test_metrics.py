import asyncio
from collections.abc import AsyncIterator

import pytest

from vilfredo.base.errors import Overloaded
from vilfredo.core.request import Request
from vilfredo.core.step import Sampled
from vilfredo.engine.fake import FakeDoor
from vilfredo.engine.messages import Delta, Stats


async def test_the_engine_s_numbers(client, door) -> None:
    door.stats_now = Stats(
        running=3,
        waiting=2,
        blocks_used=1,
        blocks_total=4,
        prefix_queries=10,
        prefix_hits=6,
        preemptions=5,
    )
    expected = {
        "num_requests_running": 3,
        "num_requests_waiting": 2,
        "kv_cache_usage_perc": 0.25,
        "prefix_cache_queries_total": 10,
        "prefix_cache_hits_total": 6,
        "num_preemptions_total": 5,
    }
    for name, value in expected.items():
        assert await client.metric(name, model_name="tiny") == value


class TimedDoor(FakeDoor):
    """The first token after 2 s; the next two, at once, 1 s later."""

    def __init__(self, clock) -> None:
        super().__init__()
        self.clock = clock

    async def submit(self, request: Request) -> AsyncIterator[Delta]:
        self.clock.advance(2)
        yield Delta(request.id, (Sampled(97),), cached=1)
        self.clock.advance(1)
        yield Delta(request.id, (Sampled(97), Sampled(256)), "stop", cached=1)


async def test_latencies(service, make_service, connect) -> None:
    client = connect(make_service(clock=service.clock, door=TimedDoor(service.clock)))
    await client.complete()
    assert await client.metric("time_to_first_token_seconds_sum") == 2
    assert await client.metric("inter_token_latency_seconds_sum") == 1
    assert await client.metric("inter_token_latency_seconds_count") == 2
    assert await client.metric("e2e_request_latency_seconds_sum") == 3


@pytest.mark.parametrize("stream", [False, True])
async def test_metrics_and_answers_tell_the_same_usage(client, events, stream) -> None:
    fields = {"stream_options": {"include_usage": True}, "stream": True} if stream else {}
    response = await client.chat(n=2, **fields)
    usage = (events(response)[-1] if stream else response.json())["usage"]
    assert await client.metric("prompt_tokens_total") == usage["prompt_tokens"]
    assert await client.metric("generation_tokens_total") == usage["completion_tokens"]
    assert await client.metric("request_success_total", finished_reason="stop") == 2


@pytest.mark.parametrize(
    ("answer", "reason", "prompt"),
    [
        ({"finish": "length"}, "length", 2),
        ({"finish": "error"}, "error", 2),
        ({"error": Overloaded("full", 1)}, "refused", 0),
    ],
)
async def test_every_end_is_counted(client, say, answer, reason, prompt) -> None:
    say("ab", **answer)
    await client.complete()
    assert await client.metric("request_success_total", finished_reason=reason) == 1
    assert await client.metric("prompt_tokens_total") == prompt
    assert await client.metric("generation_tokens_total") == 2
    finished = reason == "length"
    assert await client.metric("e2e_request_latency_seconds_count") == finished


async def test_those_who_left_are_counted(client, door, say) -> None:
    say("ab", hangs=True)
    leaving = asyncio.create_task(client.complete())
    while not door.requests:
        await asyncio.sleep(0)
    for _ in range(20):
        await asyncio.sleep(0)
    leaving.cancel()
    await asyncio.wait({leaving})
    assert door.cancelled == [door.requests[0].id]
    assert await client.metric("request_success_total", finished_reason="abort") == 1
    assert await client.metric("prompt_tokens_total") == 2
    assert await client.metric("generation_tokens_total") == 2


async def test_answers_are_counted_by_route(client) -> None:
    await client.complete()
    await client.complete(n=0)
    await client.get("/v1/models/a")
    await client.get("/v1/models/b")
    await client.get("/nowhere")
    for path, status, count in (
        ("/v1/completions", "200", 1),
        ("/v1/completions", "400", 1),
        ("/v1/models/{model:path}", "404", 2),
        ("other", "404", 1),
    ):
        assert await client.metric("http_requests_total", path=path, status=status) == count
