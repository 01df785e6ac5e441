import pytest

PATH = "/v1/completions"


@pytest.mark.parametrize(
    ("body", "says"),
    [
        (b"", "truncated"),
        (b'{"model": "tiny",}', "byte 17"),
        (b'{"model": NaN}', "byte 10"),
        (b'{"model": "\xff"}', "invalid UTF-8 (byte 11)"),
        (b'{"temperature": 1e999}', "out of range"),
        (b'{"model": "\\ud800."}', "no JSON"),
        (b"[]", "must be a JSON object"),
        (b"[" * 100_000, "nested too deeply"),
    ],
)
async def test_what_is_no_json_object(client, body, says) -> None:
    response = await client.http.post(PATH, content=body)
    assert response.status_code == 400
    assert says in response.json()["error"]["message"]


async def test_too_large(make_service, connect) -> None:
    client = connect(make_service(most_body_bytes=40))
    assert (await client.complete()).status_code == 200
    response = await client.complete(prompt="x" * 40)
    assert response.status_code == 413
    assert response.json()["error"]["code"] == "body_too_large"


async def test_any_content_type_will_do(client) -> None:
    body = b'{"model": "tiny", "prompt": "a"}'
    response = await client.http.post(PATH, content=body, headers={"content-type": "text/plain"})
    assert response.status_code == 200


async def test_depth_is_no_fault_of_ours(client) -> None:
    for depth in (100, 300, 480, 900, 970):
        deep = "[" * depth + "]" * depth
        message = f'{{"role": "assistant", "tool_calls": [{{"x": {deep}}}]}}'
        for fields in (f'"messages": [{message}]', f'"messages": {deep}', f'"tools": {deep}'):
            body = f'{{"model": "tiny", {fields}}}'
            response = await client.http.post("/v1/chat/completions", content=body)
            assert response.status_code in (200, 400), (depth, fields[:40])


async def test_long_numbers_are_no_fault_of_ours(client) -> None:
    for digits in (4000, 4299, 4300, 4301):
        number = "9" * digits
        for field in ("prompt", "max_tokens", "top_k", "seed", "stop_token_ids"):
            value = f"[{number}]" if field in ("prompt", "stop_token_ids") else number
            body = f'{{"model": "tiny", "prompt": "a", "{field}": {value}}}'
            response = await client.http.post(PATH, content=body)
            assert response.status_code in (200, 400), (field, digits)
