import json

import pytest

from vilfredo.server.textevent import TextEvent


def write(text: str) -> bytes:
    return json.dumps(
        {"model": '"text"', "text": text, "end": None}, separators=(",", ":")
    ).encode()


@pytest.mark.parametrize("text", ["", "text", 'a "quote"\n', "é🙂", "\x00\u2028"])
def test_a_filled_in_event_is_what_would_have_been_written(text: str) -> None:
    """Also where an earlier field holds the mark."""
    filled = TextEvent(write).of(text)
    assert filled.startswith(b"data: {")
    assert filled.endswith(b"}\n\n")
    assert json.loads(filled[len("data: ") :]) == json.loads(write(text))
    plain = TextEvent(write).of("x")
    assert plain == b"data: " + write("x") + b"\n\n"
