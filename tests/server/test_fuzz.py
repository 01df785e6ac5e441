"""No body makes the server answer by a 500, nor leave anything running."""

import json
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from openai.types import completion_create_params
from openai.types.chat import completion_create_params as chat_create_params

from vilfredo.server.protocol import chat, completions

CHAT, COMPLETIONS = "/v1/chat/completions", "/v1/completions"
KINDS = [
    (CHAT, chat.ChatRequest, chat.NEUTRAL),
    (COMPLETIONS, completions.CompletionRequest, completions.NEUTRAL),
]
VALID: dict[str, Any] = {
    "model": "tiny",
    "messages": [{"role": "user", "content": "a"}],
    "prompt": "a",
}
QUICK = settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)

values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=5) | st.sampled_from(["user", "text", "tiny", 1, 2, 0.5, True]),
    lambda inner: st.lists(inner, max_size=3)
    | st.dictionaries(st.sampled_from(["role", "content", "type", "text", "7", "x"]), inner),
    max_leaves=6,
)  # fmt: skip


@QUICK
@given(st.data())
async def test_any_values_of_any_fields(client, door, data) -> None:
    path, kind, neutral = data.draw(st.sampled_from(KINDS))
    known = [*kind.__struct_fields__, *neutral]
    changed = data.draw(st.dictionaries(st.sampled_from(known), values, max_size=3))
    body = {name: VALID[name] for name in VALID if name in known} | changed
    response = await client.http.post(path, content=json.dumps(body).encode())
    assert response.status_code in (200, 400, 404)
    if response.status_code != 200:
        assert response.json()["error"]["message"]
    assert door.cancelled == []


@QUICK
@given(st.binary(max_size=20), st.integers(0, 70))
async def test_any_bytes(client, junk, place) -> None:
    body = json.dumps({"model": "tiny", "prompt": "a", "user": "somebody"}).encode()
    response = await client.http.post(COMPLETIONS, content=body[:place] + junk + body[place:])
    assert response.status_code in (200, 400, 404)


@QUICK
@given(
    st.text(max_size=8) | st.sampled_from(["a\nb", "x` - at `$.model", "[0]", "`"]), st.booleans()
)
async def test_a_field_is_named_however_it_is_spelled(client, name, nested) -> None:
    unknown = {name: 1}
    fields = {"stream": True, "stream_options": unknown} if nested else unknown
    assume(name not in completions.CompletionRequest.__struct_fields__)
    error = (await client.complete(**fields)).json()["error"]
    assert error["code"] == "unknown_parameter"
    assert error["param"].endswith(name)


OFFERED = {  # by the openai SDK
    CHAT: chat_create_params.CompletionCreateParamsBase.__annotations__.keys(),
    COMPLETIONS: completion_create_params.CompletionCreateParamsBase.__annotations__.keys(),
}


@pytest.mark.parametrize(("path", "kind", "neutral"), KINDS)
async def test_what_is_not_served_is_refused_by_name(client, path, kind, neutral) -> None:
    body = {key: VALID[key] for key in VALID if key in kind.__struct_fields__}
    for name in (OFFERED[path] | neutral.keys() | {"nonsense"}) - {*kind.__struct_fields__}:
        response = await client.http.post(path, json={**body, name: {"some": "thing"}})
        assert response.status_code == 400
        assert response.json()["error"]["param"] == name


@pytest.mark.parametrize(("path", "kind", "neutral"), KINDS)
async def test_what_asks_for_nothing_is_taken(client, path, kind, neutral) -> None:
    body = {key: VALID[key] for key in VALID if key in kind.__struct_fields__}
    for name, accepted in neutral.items():
        for value in (None, *accepted):
            response = await client.http.post(path, json={**body, name: value})
            assert response.status_code == 200, (name, value)
    nulls = {field.name: None for field in msgspec.structs.fields(kind) if not field.required}
    assert (await client.http.post(path, json={**body, **nulls})).status_code == 200
