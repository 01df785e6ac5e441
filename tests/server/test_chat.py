from dataclasses import replace

import pytest

USAGE = {
    "prompt_tokens": 9,  # a start token and "user:hi\n"
    "completion_tokens": 6,  # "Hello" and the end token
    "total_tokens": 15,
    "prompt_tokens_details": {"cached_tokens": 0},
}


async def test_whole(client) -> None:
    answer = (await client.chat()).json()
    assert answer.pop("id").startswith("chatcmpl-")
    assert answer == {
        "object": "chat.completion",
        "created": 1_800_000_000,
        "model": "tiny",
        "choices": [
            {
                "index": 0,
                "message": {"role": "assistant", "content": "Hello", "refusal": None},
                "logprobs": None,
                "finish_reason": "stop",
            }
        ],
        "usage": USAGE,
    }


async def test_streamed(client, events, say) -> None:
    say("Hé")
    response = await client.chat(stream=True)
    assert response.headers["content-type"].startswith("text/event-stream")
    chunks = events(response)
    assert len({chunk["id"] for chunk in chunks}) == 1
    assert all("usage" not in chunk for chunk in chunks)
    choices = [chunk["choices"][0] for chunk in chunks]
    assert [choice["delta"] for choice in choices] == [
        {"role": "assistant", "content": ""},
        {"content": "H"},
        {"content": "é"},
        {},
    ]
    assert [choice["finish_reason"] for choice in choices] == [None, None, None, "stop"]


async def test_usage_comes_last_where_it_is_asked_for(client, events) -> None:
    chunks = events(await client.chat(stream=True, stream_options={"include_usage": True}))
    assert all(chunk["usage"] is None for chunk in chunks[:-1])
    assert chunks[-1]["choices"] == []
    assert chunks[-1]["usage"] == USAGE
    without = events(await client.chat(stream=True, stream_options={"include_usage": None}))
    assert len(without) == len(chunks) - 1


async def test_cached_tokens(client, say) -> None:
    say("x", cached=4)
    usage = (await client.chat(n=2)).json()["usage"]
    assert usage["prompt_tokens_details"] == {"cached_tokens": 4}
    assert (usage["prompt_tokens"], usage["completion_tokens"]) == (9, 4)


async def test_logprobs(client, say) -> None:
    say("é")
    answer = (await client.chat(logprobs=True, top_logprobs=2)).json()
    first, second, end = answer["choices"][0]["logprobs"]["content"]
    assert first == {
        "token": "bytes:\\xc3",
        "logprob": -1.0,
        "bytes": [0xC3],
        "top_logprobs": [
            {"token": "bytes:\\xc3", "logprob": -1.0, "bytes": [0xC3]},
            {"token": "bytes:\\xc4", "logprob": -2.0, "bytes": [0xC4]},
        ],
    }
    assert bytes(first["bytes"] + second["bytes"] + end["bytes"]).decode() == "é"
    assert end["token"] == "<end>"


async def test_logprobs_without_alternatives(client) -> None:
    answer = (await client.chat(logprobs=True)).json()
    assert [each["top_logprobs"] for each in answer["choices"][0]["logprobs"]["content"]] == [
        []
    ] * 6


async def test_what_the_template_gets(client, service) -> None:
    call = {"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    messages = [
        {"role": "developer", "content": "be", "name": "dev"},
        {"role": "user", "content": [{"type": "text", "text": "a"}]},
        {"role": "assistant", "content": None, "tool_calls": [call], "refusal": None},
        {"role": "tool", "content": "1", "tool_call_id": "c"},
        {"role": "assistant", "content": "ok", "annotations": [], "audio": None},
    ]
    assert (await client.chat(messages=messages)).status_code == 200
    assert service.template.seen == [
        {"role": "developer", "content": "be", "name": "dev"},
        {"role": "user", "content": [{"type": "text", "text": "a"}]},
        {"role": "assistant", "tool_calls": [call]},
        {"role": "tool", "content": "1", "tool_call_id": "c"},
        {"role": "assistant", "content": "ok"},
    ]


async def test_max_tokens_by_either_name(client, door) -> None:
    await client.chat(max_tokens=3)
    await client.chat(max_completion_tokens=4)
    await client.chat(max_tokens=5, max_completion_tokens=5)
    await client.chat()
    limits = [request.limits.max_tokens for request in door.requests]
    assert limits == [3, 4, 5, 191]  # by default what the context leaves


MESSAGE = {"role": "user", "content": "hi"}


@pytest.mark.parametrize(
    ("fields", "param", "code"),
    [
        ({"messages": []}, "messages", "invalid_value"),
        ({"messages": None}, "messages", "missing_required_parameter"),
        ({"messages": ["hi"]}, "messages[0]", "invalid_value"),
        ({"messages": [MESSAGE, {"role": "user"}]}, "messages[1].content", None),
        ({"messages": [{**MESSAGE, "role": "king"}]}, "messages[0].role", "invalid_value"),
        ({"messages": [{**MESSAGE, "x": 1}]}, "messages[0].x", "unknown_parameter"),
        ({"messages": [{**MESSAGE, "refusal": "no"}]}, "messages[0].refusal", None),
        (
            {"messages": [{**MESSAGE, "content": [{"type": "image_url", "image_url": {}}]}]},
            "messages[0].content[0]",
            "unsupported_parameter",
        ),
        (
            {"messages": [{**MESSAGE, "content": [{"type": "text", "text": 1}]}]},
            "messages[0].content[0].text",
            "invalid_value",
        ),
        ({"messages": [{**MESSAGE, "content": [{}]}]}, "messages[0].content[0].type", None),
        ({"max_tokens": 1, "max_completion_tokens": 2}, "max_tokens", "invalid_value"),
        ({"top_logprobs": 2}, "top_logprobs", "invalid_value"),
        ({"tools": [{}]}, "tools", "unsupported_parameter"),
        ({"response_format": {"type": "json_object"}}, "response_format", None),
        ({"messages": [{**MESSAGE, "content": "x" * 200}]}, "messages", "context_length_exceeded"),
    ],
)
async def test_refused(client, door, fields, param, code) -> None:
    response = await client.chat(**fields)
    error = response.json()["error"]
    assert response.status_code == 400
    assert error["type"] == "invalid_request_error"
    assert error["param"] == param
    assert code in (error["code"], None)
    assert door.requests == []


async def test_fields_that_ask_for_nothing(client) -> None:
    fields = {"tools": [], "tool_choice": "auto", "response_format": {"type": "text"}}
    labels = {"user": "u", "safety_identifier": "s", "prompt_cache_key": "k"}
    nothing = {"store": False, "metadata": None, "audio": None, "temperature": None, "n": 1}
    assert (await client.chat(**fields, **labels, **nothing)).status_code == 200


async def test_a_model_without_a_template(make_service, connect) -> None:
    response = await connect(make_service(template=None)).chat()
    assert response.status_code == 400
    assert "/v1/completions" in response.json()["error"]["message"]


async def test_both_numbers_of_a_prompt_that_is_too_long(service, connect) -> None:
    response = await connect(replace(service, context=9)).chat()
    message = response.json()["error"]["message"]
    assert "9 tokens" in message
    assert "context of 9" in message
