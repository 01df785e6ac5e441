import pytest

from vilfredo.core.request import Limits, Sampling


async def test_everything_that_sampling_can_be_told(client, door) -> None:
    await client.complete(
        temperature=0.5,
        top_k=7,
        top_p=0.9,
        min_p=0.1,
        repetition_penalty=1.5,
        presence_penalty=-2,
        frequency_penalty=2,
        logit_bias={"5": -100, "6": 1.5},
        seed=3,
        logprobs=2,
        max_tokens=4,
        stop_token_ids=[9, 8],
    )
    (request,) = door.requests
    assert request.sampling == Sampling(
        temperature=0.5,
        top_k=7,
        top_p=0.9,
        min_p=0.1,
        repetition_penalty=1.5,
        presence_penalty=-2.0,
        frequency_penalty=2.0,
        logit_bias=((5, -100.0), (6, 1.5)),
        seed=3,
        logprobs=2,
    )
    assert request.limits == Limits(4, frozenset({8, 9, 256}))


async def test_ignore_eos_keeps_the_stops_that_were_asked_for(client, door) -> None:
    await client.complete(ignore_eos=True, stop_token_ids=[9])
    assert door.requests[0].limits.stop_tokens == {9}


@pytest.mark.parametrize(("asked", "meant"), [(-1, 0), (0, 0), (3, 3), (10**30, 258)])
async def test_top_k(client, door, asked, meant) -> None:
    await client.complete(top_k=asked)
    assert door.requests[0].sampling.top_k == meant


async def test_choices_of_a_prompt_take_successive_seeds(client, door) -> None:
    answer = (await client.complete(prompt=["a", "b"], n=2, seed=(1 << 63) - 1)).json()
    assert [choice["index"] for choice in answer["choices"]] == [0, 1, 2, 3]
    seeds = [request.sampling.seed for request in door.requests]
    assert seeds == [(1 << 63) - 1, -(1 << 63)] * 2
    assert answer["usage"]["prompt_tokens"] == 2
    assert len({request.id for request in door.requests}) == 4


async def test_without_a_seed_equal_prompts_differ(client, door) -> None:
    await client.complete(prompt=["a", "a"], n=2)
    assert len({request.sampling.seed for request in door.requests}) == 4


@pytest.mark.parametrize(
    ("fields", "param"),
    [
        ({"temperature": -0.1}, "temperature"),
        ({"temperature": 2.1}, "temperature"),
        ({"temperature": "hot"}, "temperature"),
        ({"top_p": 1.1}, "top_p"),
        ({"top_k": -2}, "top_k"),
        ({"min_p": -1}, "min_p"),
        ({"repetition_penalty": 0}, "repetition_penalty"),
        ({"presence_penalty": 2.5}, "presence_penalty"),
        ({"frequency_penalty": -2.5}, "frequency_penalty"),
        ({"logit_bias": {"258": 1}}, "logit_bias"),
        ({"logit_bias": {"a": 1}}, "logit_bias"),
        ({"logit_bias": {"-1": 1}}, "logit_bias"),
        ({"logit_bias": {"5": 1, "05": 2}}, "logit_bias"),
        ({"logit_bias": {"9" * 5000: 1}}, "logit_bias"),
        ({"logit_bias": {"1": 101}}, "logit_bias[...]"),
        ({"logit_bias": []}, "logit_bias"),
        ({"seed": 1 << 63}, "seed"),
        ({"seed": 1.5}, "seed"),
        ({"stop": ""}, "stop"),
        ({"stop": ["a", ""]}, "stop[1]"),
        ({"stop": ["a"] * 17}, "stop"),
        ({"stop_token_ids": [258]}, "stop_token_ids"),
        ({"stop_token_ids": [-1]}, "stop_token_ids[0]"),
        ({"n": 0}, "n"),
        ({"n": 129}, "n"),
        ({"n": 10**30}, "n"),
        ({"n": 65, "prompt": ["a", "b"]}, "n"),
        ({"stream": 1}, "stream"),
        ({"stream_options": {}}, "stream_options"),
        (
            {"stream_options": {"include_obfuscation": True}, "stream": True},
            "stream_options.include_obfuscation",
        ),
        ({"stream_options": {"x": 1}, "stream": True}, "stream_options.x"),
        ({"logprobs": 21}, "logprobs"),
        ({"stop_strings": ["a"]}, "stop_strings"),
        ({"model": None}, "model"),
        ({"model": 1}, "model"),
    ],
)
async def test_what_cannot_be_is_named(client, door, fields, param) -> None:
    response = await client.complete(**fields)
    assert response.status_code == 400
    error = response.json()["error"]
    assert error["param"] == param
    assert error["message"].startswith(f"{param}: ")
    assert door.requests == []


async def test_a_model_that_is_not_served(client) -> None:
    response = await client.chat(model="gpt-9")
    assert response.status_code == 404
    error = response.json()["error"]
    assert error["code"] == "model_not_found"
    assert "'tiny'" in error["message"]
