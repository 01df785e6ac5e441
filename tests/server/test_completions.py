from dataclasses import replace

import pytest


async def test_whole(client) -> None:
    answer = (await client.complete()).json()
    assert answer.pop("id").startswith("cmpl-")
    assert answer == {
        "object": "text_completion",
        "created": 1_800_000_000,
        "model": "tiny",
        "choices": [{"index": 0, "text": "Hello", "logprobs": None, "finish_reason": "stop"}],
        "usage": {
            "prompt_tokens": 2,
            "completion_tokens": 6,
            "total_tokens": 8,
            "prompt_tokens_details": {"cached_tokens": 0},
        },
    }


async def test_streamed(client, events, say) -> None:
    say("abc", finish="length")
    chunks = events(
        await client.complete(stream=True, stream_options={"include_usage": True}, max_tokens=3)
    )
    choices = [chunk["choices"][0] for chunk in chunks[:-1]]
    assert [choice["text"] for choice in choices] == ["a", "b", "c"]
    assert [choice["finish_reason"] for choice in choices] == [None, None, "length"]
    assert [chunk["usage"] for chunk in chunks[:-1]] == [None] * 3
    assert chunks[-1]["choices"] == []
    assert chunks[-1]["usage"]["completion_tokens"] == 3


@pytest.mark.parametrize(
    ("prompt", "tokens"),
    [
        ("hi", [b"hi"]),
        (["hi", "é"], [b"hi", "é".encode()]),
        ([104, 105], [b"hi"]),
        ([[104], [105]], [b"h", b"i"]),
        (["h", [105]], [b"h", b"i"]),
    ],
)
async def test_every_kind_of_prompt(client, door, prompt, tokens) -> None:
    answer = (await client.complete(prompt=prompt)).json()
    assert [choice["index"] for choice in answer["choices"]] == list(range(len(tokens)))
    assert [bytes(request.prompt) for request in door.requests] == tokens
    assert answer["usage"]["prompt_tokens"] == sum(map(len, tokens))


async def test_bos_goes_before_text_only(service, connect, door) -> None:
    service.tokenizer.bos = 257
    await connect(service).complete(prompt=["a", [98]])
    assert [request.prompt for request in door.requests] == [(257, 97), (98,)]


async def test_echo(client, events, say) -> None:
    say("!")
    fields = {"prompt": ["é", [195, 169]], "echo": True}
    answer = (await client.complete(**fields)).json()
    assert [choice["text"] for choice in answer["choices"]] == ["é!", "é!"]
    chunks = events(await client.complete(**fields, stream=True))
    first = [chunk["choices"][0] for chunk in chunks if chunk["choices"][0]["index"] == 0]
    assert "".join(choice["text"] for choice in first) == "é!"


async def test_a_stop_string_is_not_looked_for_in_the_echo(client, say) -> None:
    say("b!b")
    answer = (await client.complete(prompt="a!a", echo=True, stop="!")).json()
    assert answer["choices"][0]["text"] == "a!ab"


async def test_logprobs(client, say) -> None:
    say("aé")
    answer = (await client.complete(logprobs=1)).json()
    assert answer["choices"][0]["logprobs"] == {
        "tokens": ["a", "bytes:\\xc3", "bytes:\\xa9", "<end>"],
        "token_logprobs": [-1.0] * 4,
        "top_logprobs": [
            {"a": -1.0},
            {"bytes:\\xc3": -1.0},
            {"bytes:\\xa9": -1.0},
            {"\x00": -1.0, "<end>": -1.0},
        ],
        "text_offset": [0, 1, 1, 2],
    }


async def test_streamed_logprobs_go_on_where_the_last_chunk_ended(client, say, events) -> None:
    say("ab")
    chunks = events(await client.complete(logprobs=0, stream=True))
    logprobs = [chunk["choices"][0]["logprobs"] for chunk in chunks]
    assert [each["tokens"] for each in logprobs] == [["a"], ["b"], ["<end>"]]
    assert [each["text_offset"] for each in logprobs] == [[0], [1], [2]]


async def test_max_tokens_is_16_by_default(client, door) -> None:
    await client.complete()
    await client.complete(max_tokens=10**30)
    assert [request.limits.max_tokens for request in door.requests] == [16, 198]


@pytest.mark.parametrize(
    ("fields", "param"),
    [
        ({"prompt": ""}, "prompt"),
        ({"prompt": []}, "prompt"),
        ({"prompt": [[]]}, "prompt[0]"),
        ({"prompt": ["a", "b" * 200]}, "prompt[1]"),
        ({"prompt": None}, "prompt"),
        ({"prompt": 1}, "prompt"),
        ({"prompt": [1, "a"]}, "prompt[0]"),
        ({"prompt": [258]}, "prompt"),
        ({"prompt": [[1], [258]]}, "prompt[1]"),
        ({"prompt": [10**40]}, "prompt"),
        ({"prompt": ["ok", "\x00"]}, "prompt[1]"),
        ({"prompt": ["a"] * 129}, "n"),
        ({"max_tokens": 0}, "max_tokens"),
        ({"echo": True, "logprobs": 0}, "logprobs"),
        ({"suffix": "x"}, "suffix"),
        ({"best_of": 2}, "best_of"),
    ],
)
async def test_refused(client, door, fields, param) -> None:
    response = await client.complete(**fields)
    assert response.status_code == 400
    assert response.json()["error"]["param"] == param
    assert door.requests == []


async def test_a_prompt_that_fills_the_context(service, connect) -> None:
    client = connect(replace(service, context=4))
    assert (await client.complete(prompt="abc")).status_code == 200
    error = (await client.complete(prompt="abcd")).json()["error"]
    assert error["code"] == "context_length_exceeded"
    assert "4 tokens" in error["message"]
    assert "context of 4" in error["message"]
