"""A conversation, typed by the test and answered by it."""

import builtins
import signal
from dataclasses import dataclass, field
from types import SimpleNamespace

import pytest

from vilfredo.base.errors import InvalidInput


def user(text):
    return {"role": "user", "content": text}


def assistant(text):
    return {"role": "assistant", "content": text}


@dataclass(slots=True)
class FakeLLM:
    """Answers with "yes"; `long` is stopped by Ctrl-C, `bad` is refused."""

    template: object | None = field(default_factory=object)
    plan: object = field(
        default_factory=lambda: SimpleNamespace(served_name="fake", table="t", threads=1)
    )
    heard: list[object] = field(default_factory=list)
    options: object = None
    closed: int = 0

    def stream(self, messages, **options):
        self.options = options
        return self._pieces(list(messages))

    def _pieces(self, messages):
        self.heard.append(messages)
        try:
            match messages[-1]["content"]:
                case "bad":
                    raise InvalidInput("prompt", "is too long")
                case "long":
                    yield "once "
                    signal.raise_signal(signal.SIGINT)
                    yield "upon "
                    yield "a time"
                case _:
                    yield from ("y", "es")
        finally:
            self.closed += 1


@pytest.fixture
def talk(monkeypatch, vilfredo):
    def run(llm, *lines, flags=()):
        coming = iter(lines)

        def typed(prompt):
            line = next(coming, EOFError())
            if isinstance(line, BaseException):
                raise line
            return line

        monkeypatch.setattr(builtins, "input", typed)
        monkeypatch.setattr("vilfredo.cli.local.open_model", lambda model, **more: llm)
        return vilfredo("chat", *flags)

    return run


def test_a_conversation_grows_until_it_is_cleared(talk):
    llm = FakeLLM()
    ended = talk(llm, "hi", "", "so?", "/clear", "again", "/exit", "never", flags=("--seed", "3"))
    assert ended.code == 0
    assert llm.heard == [
        [user("hi")],
        [user("hi"), assistant("yes"), user("so?")],
        [user("again")],
    ]
    assert ended.out.count("yes\n") == 3
    assert llm.options == {"max_tokens": 1024, "temperature": 0.7, "seed": 3}


def test_a_system_message_outlives_a_clear(talk):
    llm = FakeLLM()
    talk(llm, "hi", "/clear", "hi", flags=("--system", "Be kind."))
    assert llm.heard == [[{"role": "system", "content": "Be kind."}, user("hi")]] * 2


def test_commands_are_not_said_to_the_model_and_paths_are(talk):
    llm = FakeLLM()
    ended = talk(llm, "/help", "/nope", "/usr/bin?")
    assert ended.out.count("/clear forgets") == 3
    assert "There is no /nope." in ended.out
    assert llm.heard == [[user("/usr/bin?")]]


@pytest.mark.parametrize("leaving", [EOFError(), KeyboardInterrupt()])
def test_ctrl_c_stops_an_answer_and_at_the_prompt_it_leaves(talk, leaving):
    llm = FakeLLM()
    ended = talk(llm, "long", "so?", leaving, "never")
    assert ended.code == 0
    assert "once upon  [stopped]\n" in ended.out
    assert llm.heard[1] == [user("long"), assistant("once upon "), user("so?")]
    assert (llm.closed, len(llm.heard)) == (2, 2)


def test_what_is_refused_was_never_said(talk):
    llm = FakeLLM()
    ended = talk(llm, "hi", "bad", "so?")
    assert ended.code == 0
    assert ended.err == "vilfredo: prompt: is too long\n"
    assert llm.heard[-1] == [user("hi"), assistant("yes"), user("so?")]


def test_a_model_that_does_not_converse(talk):
    ended = talk(FakeLLM(template=None), "hi")
    assert ended.code == 1
    assert "fake has no chat template" in ended.err
