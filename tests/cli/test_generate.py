"""One completion: of a tiny model whose text says nothing, and of one that knows Paris."""

import pytest


@pytest.fixture
def generate(vilfredo, tiny_gguf):
    def run(*arguments, stdin=b""):
        flags = ("--table", "reference", "--threads", "1", "--max-tokens", "8")
        return vilfredo("generate", *arguments, "-m", tiny_gguf, *flags, stdin=stdin)

    return run


def test_the_prompt_may_come_by_stdin_and_the_text_is_the_same_again(generate):
    argument, stdin = generate("thé"), generate("-", stdin="thé".encode())
    assert (argument.code, argument.err) == (0, "")
    assert len(argument.out) > 1
    assert stdin == argument
    assert generate("the").out != argument.out


def test_a_seed_makes_drawn_text_the_same_again(generate):
    first, second, other = (
        generate("the", "--temperature", "2", "--seed", seed) for seed in ("1", "1", "2")
    )
    assert first == second
    assert first.out != other.out


def test_a_prompt_may_be_a_message(generate):
    text, message = generate("the"), generate("the", "--chat")
    assert message.code == 0
    assert message.out != text.out


def test_stdin_that_is_no_text(generate):
    ended = generate("-", stdin=b"ab\xff")
    assert ended.code == 2
    assert ended.err == "vilfredo: prompt: stdin is not UTF-8 at byte 2\n"


@pytest.mark.model
def test_a_real_model_goes_on_sensibly_and_the_same_again(vilfredo, model_path):
    model_path("smollm2-135m")
    arguments = ("generate", "The capital of France is", "-m", "smollm2-135m", "--max-tokens", "8")
    first = vilfredo(*arguments)
    assert (first.code, first.err) == (0, "")
    assert "Paris" in first.out
    assert vilfredo(*arguments) == first


@pytest.mark.model
def test_a_real_model_answers_a_message(vilfredo, model_path):
    model_path("smollm2-135m")
    asked = "What is the capital of France?"
    ended = vilfredo("generate", asked, "--chat", "-m", "smollm2-135m", "--max-tokens", "24")
    assert "Paris" in ended.out
