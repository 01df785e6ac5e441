"""The printed line works when it is pasted into a shell."""

import json
import shlex

import pytest

from vilfredo.cli.greeting import greeting


@pytest.mark.parametrize(
    ("host", "url"),
    [
        ("127.0.0.1", "http://127.0.0.1:80"),
        ("0.0.0.0", "http://127.0.0.1:80"),
        ("::", "http://[::1]:80"),
        ("::1", "http://[::1]:80"),
        ("fe80::2", "http://[fe80::2]:80"),
    ],
)
def test_the_url_can_be_reached(host, url):
    said = greeting("m", True, host, 80)
    assert f"on {url}  " in said
    assert f"curl -N {url}/v1/chat/completions " in said


@pytest.mark.parametrize("name", ["smollm2-135m", 'it\'s "mine" \\ $HOME `ls` é'])
@pytest.mark.parametrize("chats", [True, False])
def test_a_shell_reads_what_was_meant(name, chats):
    line = greeting(name, chats, "127.0.0.1", 80).split("\n\n")[1]
    words = shlex.split(line.replace("\\\n", ""))
    body = json.loads(words[words.index("-d") + 1])
    assert (body["model"], body["stream"]) == (name, True)
    assert ("messages" in body, "prompt" in body) == (chats, not chats)
    assert words[2].endswith("/v1/chat/completions" if chats else "/v1/completions")
