"""Streamed and whole answers are one: for any tokens, however steps cut them, and any stops."""

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from vilfredo.base.errors import EngineDied, Overloaded
from vilfredo.core.request import Request
from vilfredo.core.step import Sampled
from vilfredo.engine.fake import Answer, FakeDoor
from vilfredo.engine.messages import Delta


@dataclass(frozen=True)
class Script:
    tokens: Sequence[int]
    cuts: Sequence[int]
    finish: str
    lone: bool  # the finish comes with no token


class ScriptedDoor(FakeDoor):
    """Deltas of any number of tokens, as from an engine whose reader was slow."""

    scripts: Sequence[Script] = ()

    async def submit(self, request: Request) -> AsyncIterator[Delta]:
        script = self.scripts[int(request.id.rsplit("-", 1)[1])]
        sampled = [
            Sampled(token, -float(place), ((token, -float(place)), (0, -99.0)))
            for place, token in enumerate(script.tokens)
        ]
        ends = sorted({0, len(sampled), *(min(cut, len(sampled)) for cut in script.cuts)})
        deltas = [Delta(request.id, tuple(sampled[a:b]), cached=1) for a, b in pairwise(ends)]
        if script.lone or not deltas:
            deltas.append(Delta(request.id, ()))
        for place, delta in enumerate(deltas):
            await asyncio.sleep(0)
            last = place == len(deltas) - 1
            yield Delta(request.id, delta.tokens, script.finish if last else None, cached=1)


scripts = st.builds(
    Script,
    st.lists(st.sampled_from([*b"ab", *"é€".encode(), 0x80, 0xFF, 256]), max_size=8),
    st.lists(st.integers(0, 8), max_size=4),
    st.sampled_from(["stop", "length"]),
    st.booleans(),
)
stops = st.lists(st.text("abé€\ufffd", min_size=1, max_size=3), max_size=3)


def joined(chunks: Sequence[dict[str, Any]], chat: bool) -> dict[int, dict[str, Any]]:
    """By choice: the text, the log-probabilities and the finish of a stream."""
    choices: dict[int, dict[str, Any]] = {}
    for chunk in chunks:
        for choice in chunk["choices"]:
            whole = choices.setdefault(
                choice["index"], {"text": "", "logprobs": {}, "finish_reason": None}
            )
            assert whole["finish_reason"] is None  # nothing follows the finish
            text = choice["delta"].get("content", "") if chat else choice["text"]
            text.encode()  # no half of a character
            whole["text"] += text
            whole["finish_reason"] = choice["finish_reason"]
            for key, value in (choice["logprobs"] or {}).items():
                if value:
                    whole["logprobs"].setdefault(key, []).extend(value)
    return choices


@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(st.lists(scripts, min_size=1, max_size=3), stops, st.booleans(), st.booleans())
async def test_joined_streams_are_whole_answers(
    make_service, connect, events, scripts, stops, chat, logprobs
) -> None:
    door = ScriptedDoor()
    door.scripts = scripts
    client = connect(make_service(door=door))
    fields: dict[str, Any] = {"n": len(scripts), "stop": stops, "seed": 1}
    if logprobs:
        fields["logprobs"] = True if chat else 2
    ask = client.chat if chat else client.complete
    whole = (await ask(**fields)).json()
    chunks = events(await ask(**fields, stream=True, stream_options={"include_usage": True}))
    streamed = joined(chunks, chat)
    assert chunks[-1]["usage"] == whole["usage"]
    assert len(streamed) == len(whole["choices"])
    for choice in whole["choices"]:
        told = choice["logprobs"] or {}
        assert streamed[choice["index"]] == {
            "text": choice["message"]["content"] if chat else choice["text"],
            "logprobs": {key: value for key, value in told.items() if value},
            "finish_reason": choice["finish_reason"],
        }
        if logprobs and chat and not stops:
            data = b"".join(bytes(entry["bytes"]) for entry in told["content"])
            assert data.decode("utf-8", "replace") == choice["message"]["content"]


async def test_a_stop_string_cancels_the_rest(client, door, say) -> None:
    say("abcdef", hangs=True)
    answer = (await client.complete(stop=["cd"])).json()
    assert answer["choices"][0]["text"] == "ab"
    assert answer["choices"][0]["finish_reason"] == "stop"
    assert answer["usage"]["completion_tokens"] == 4
    assert door.cancelled == [door.requests[0].id]


async def test_a_stop_string_counts_no_token_after_it(make_service, connect) -> None:
    door = ScriptedDoor()
    door.scripts = [Script(b"abcdef", (), "length", lone=False)]
    answer = (await connect(make_service(door=door)).complete(stop="c", logprobs=0)).json()
    assert answer["usage"]["completion_tokens"] == 3
    assert answer["choices"][0]["logprobs"]["tokens"] == ["a", "b", "c"]
    assert answer["choices"][0]["finish_reason"] == "stop"


FAILURES = [
    ({"error": Overloaded("1024 requests wait already", 1.2)}, 503, "queue_full"),
    ({"error": EngineDied("the engine's process ended")}, 503, "engine_died"),
    ({"finish": "error", "reason": "the logits are not finite"}, 500, "generation_failed"),
    ({"finish": "cancelled"}, 500, "generation_failed"),
    ({"error": ZeroDivisionError("secret")}, 500, "internal_error"),
]


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("n", [1, 3])
@pytest.mark.parametrize(("failure", "status", "code"), FAILURES)
async def test_failures_before_the_first_token(
    client, say, failure, status, code, n, stream
) -> None:
    say("", **failure)
    response = await client.chat(n=n, stream=stream)
    assert response.status_code == status
    error = response.json()["error"]
    assert error["code"] == code
    assert "secret" not in error["message"]
    if status == 503:
        assert int(response.headers["retry-after"]) >= 2
        assert response.headers["x-vilfredo-reason"] == code


@pytest.mark.parametrize(("failure", "status", "code"), FAILURES)
async def test_failures_after_it(client, say, failure, status, code) -> None:
    say("ab", **failure)
    assert (await client.complete()).status_code == status
    response = await client.complete(stream=True)
    assert response.status_code == 200
    *chunks, last = [each.removeprefix("data: ") for each in response.text.split("\n\n") if each]
    assert "".join(json.loads(chunk)["choices"][0]["text"] for chunk in chunks) == "ab"
    assert json.loads(last)["error"]["code"] == code


async def test_the_first_failure_cancels_the_other_choices(client, door) -> None:
    def answer(request: Request) -> Answer:
        if request.id.endswith("-1"):
            return Answer(error=Overloaded("full", 1))
        return Answer(tuple(b"ab"), hangs=True)

    door.answer = answer
    assert (await client.complete(n=3)).status_code == 503
    assert sorted(each[-1] for each in door.cancelled) == ["0", "2"]


async def test_tokens_that_came_with_an_error_are_told_before_it(make_service, connect) -> None:
    door = ScriptedDoor()
    door.scripts = [Script(b"ab", (), "error", lone=False)]
    response = await connect(make_service(door=door)).complete(stream=True)
    assert '"text":"ab"' in response.text
    assert "the engine said error" in response.text
