"""Real weights: sense comes out, and it is the same in a batch as alone."""

import pytest

from vilfredo.llm import LLM

pytestmark = pytest.mark.model


@pytest.fixture(scope="module")
def llm(model_path):
    return LLM(str(model_path("smollm2-135m")), table="invariant")  # tests compare answers


def test_it_knows_a_capital(llm):
    assert llm.generate("The capital of France is", max_tokens=1)[0].text == " Paris"


def test_32_at_once_get_what_each_gets_alone(llm):
    prompts = [f"{number} things to do in the {place}" for number in range(8)
               for place in ("city", "garden", "rain", "morning before breakfast")]  # fmt: skip
    together = llm.generate(prompts, max_tokens=12)
    for prompt, completion in zip(prompts, together, strict=True):
        (alone,) = llm.generate(prompt, max_tokens=12)
        assert alone.tokens == completion.tokens


def test_a_chat_streams_what_it_answers(llm):
    messages = [{"role": "user", "content": "Name a color."}]
    whole = llm.chat(messages, max_tokens=20)
    assert "".join(llm.stream(messages, max_tokens=20)) == whole.text != ""
