"""Every fault ends in one line that names it; never in a traceback."""

import errno
import importlib.metadata
import re
import socket
import sys

import pytest


def test_help_and_version(vilfredo):
    assert vilfredo("--version").out == f"vilfredo {importlib.metadata.version('vilfredo')}\n"
    shown = vilfredo("--help")
    assert shown.code == 0
    for command in ("serve", "chat", "generate", "pull", "models", "selftest", "verify"):
        assert f"\n  {command} " in shown.out
        assert vilfredo(command, "--help").code == 0


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("--bogus",), "--bogus"),
        (("serve", "--bogus"), "--bogus"),
        (("sevre",), "sevre"),
        (("generate",), "prompt"),
        (("generate", "hi", "--max-tokens", "many"), "--max-tokens"),
    ],
)
def test_a_wrong_flag_is_named(vilfredo, arguments, says):
    ended = vilfredo(*arguments)
    assert (ended.code, ended.out) == (2, "")
    assert says in ended.err.splitlines()[-1]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("serve", "smolm2-135m"), "model: .*did you mean smollm2-135m"),
        (("chat", "-m", "smollm2"), "model: .*did you mean smollm2-135m"),
        (("generate", "hi", "-m", ""), "model: must be text"),
        (("pull", "nothing"), "model: .*known: smollm2-135m"),
        (("serve", "--port", "70000"), "port: must be below 65536"),
        (("serve", "--threads", "0"), "threads: must be positive"),
        (("generate", "hi", "--threads", "1000000"), "threads: must be at most 1024"),
        (("serve", "TINY", "--port", "0", "--table", "mmx"), "table: 'mmx' is none of auto"),
        (("serve", "TINY", "--port", "0", "--context", "99999999"), "context: 99999999 is over"),
        (("serve", "TINY", "--port", "0", "--kv-megabytes", "99999999"), "kv_megabytes: .*free"),
        (("generate", "hi", "-m", "TINY", "--max-tokens", "0"), "max_tokens: "),
        (("generate", "hi", "-m", "TINY", "--temperature", "nan"), "temperature: "),
        (("generate", "", "-m", "TINY"), "prompt: must hold at least one token"),
        (("generate", "x" * 300, "-m", "TINY"), "prompt: its 300 tokens leave no room"),
        (("selftest", "--table", "mmx"), "table: 'mmx' is none of auto"),
        (("verify", "TINY", "--against", "hope"), "against: 'hope' is none of reference"),
    ],
)
def test_invalid_input_names_its_field(vilfredo, tiny_gguf, arguments, says):
    ended = vilfredo(*(tiny_gguf if each == "TINY" else each for each in arguments))
    assert (ended.code, ended.out) == (2, "")
    assert_one_line(ended.err, says)


def assert_one_line(err: str, says: str) -> None:
    (line,) = err.splitlines()
    assert line.startswith("vilfredo: ")
    assert re.search(says, line), line


def test_variables_and_toml_are_named_too(vilfredo, monkeypatch, tmp_path):
    settings = tmp_path / "settings.toml"
    for content, says in ((b"prot = 1", "prot: is not a setting"), (b"port =", "Invalid value")):
        settings.write_bytes(content)
        ended = vilfredo("serve", "--config", settings)
        assert ended.code == 2
        assert_one_line(ended.err, f"{settings}: {says}")
    missing = vilfredo("serve", "--config", tmp_path / "none.toml")
    assert_one_line(missing.err, "none.toml: No such file or directory$")
    monkeypatch.setenv("VILFREDO_PORT", "abc")
    assert_one_line(vilfredo("serve").err, "port: must be a whole number, not 'abc'")


def test_a_model_that_is_none(vilfredo, tiny_gguf, tmp_path):
    cut = tmp_path / "cut.gguf"
    data = tiny_gguf.read_bytes()
    for length in (0, 3, 30, len(data) // 2, len(data) - 1):
        cut.write_bytes(data[:length])
        for command in (("serve", cut, "--port", "0"), ("generate", "hi", "-m", cut)):
            ended = vilfredo(*command)
            assert (ended.code, ended.out) == (1, "")
            assert_one_line(ended.err, str(cut))
    cut.unlink()
    ended = vilfredo("serve", tmp_path, "--port", "0")
    assert ended.code == 1
    assert_one_line(ended.err, "is a directory without a config.json or a GGUF file")


def test_a_port_in_use(vilfredo):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        ended = vilfredo("serve", "--port", str(port))
    assert ended.code == 2
    assert_one_line(ended.err, f"port: cannot listen on 127.0.0.1:{port}: Address already in use$")


@pytest.mark.parametrize(
    ("raised", "code"), [(KeyboardInterrupt(), 130), (BrokenPipeError(errno.EPIPE, "gone"), 1)]
)
def test_ctrl_c_and_a_reader_that_left_end_quietly(vilfredo, monkeypatch, raised, code):
    monkeypatch.setattr(sys, "stdout", sys.stdout)  # typer replaces both when a pipe breaks
    monkeypatch.setattr(sys, "stderr", sys.stderr)

    def fail(*arguments, **flags):
        raise raised

    monkeypatch.setattr("vilfredo.cli.local.open_model", fail)
    ended = vilfredo("generate", "hi")
    assert (ended.code, ended.err) == (code, "")


def test_a_fault_of_ours_keeps_its_traceback(monkeypatch, vilfredo):
    def fail(*arguments, **flags):
        raise ZeroDivisionError("oops")

    monkeypatch.setattr("vilfredo.cli.local.open_model", fail)
    with pytest.raises(ZeroDivisionError, match="oops"):
        vilfredo("generate", "hi")
