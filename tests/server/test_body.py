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
