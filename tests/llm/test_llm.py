"""A whole model in this process: tiny, random and greedy, so that every text is determined."""

import subprocess
import sys

import pytest

import vilfredo
from vilfredo.base.errors import InvalidInput
from vilfredo.core.step import Failed
from vilfredo.llm import LLM, GenerationFailed

CHAT = [{"role": "user", "content": "hello"}]


@pytest.fixture(scope="module")
def llm(tiny_gguf):
    return LLM(str(tiny_gguf), table="reference", threads=1)


@pytest.fixture(autouse=True)
def nothing_is_left_behind(llm):
    yield
    stats = llm._engine.stats()
    assert (stats.running, stats.waiting, stats.blocks_used) == (0, 0, 0)


def test_one_completion_a_prompt_in_their_order(llm):
    prompts = ["the cat", "a dog", "the cat", "x"]
    together = llm.generate(prompts, max_tokens=12)
    alone = [llm.generate(prompt, max_tokens=12)[0] for prompt in prompts]
    assert [each.text for each in together] == [each.text for each in alone]
    assert together[0].text == together[2].text != together[1].text
    assert [each.finish for each in together] == ["length"] * 4
    assert all(len(each.tokens) == 12 for each in together)


def test_usage_counts_the_prompt_and_what_the_cache_had(llm):
    prompt = list(range(40))
    first, second = (llm.generate([prompt], max_tokens=2)[0] for _ in range(2))
    assert first.prompt_tokens == second.prompt_tokens == 40
    assert (first.cached_tokens, second.cached_tokens) == (0, 32)
    assert first.text == second.text


def test_texts_and_their_tokens_are_the_same_prompt(llm):
    tokens = llm.tokenizer.encode("thus")
    assert llm.generate("thus", max_tokens=5) == llm.generate([tokens], max_tokens=5)


def test_a_stream_joined_is_the_whole_text(llm):
    pieces = list(llm.stream("the cat", max_tokens=30))
    assert len(pieces) > 1
    assert "".join(pieces) == llm.generate("the cat", max_tokens=30)[0].text


def test_a_chat_is_what_its_template_says(llm):
    answer = llm.chat(CHAT, max_tokens=9)
    tokens = llm.template.encode(CHAT)
    assert answer.text == llm.generate([tokens], max_tokens=9)[0].text
    assert answer.text == "".join(llm.stream(CHAT, max_tokens=9))
    assert answer.prompt_tokens == len(tokens)


def test_a_stop_string_ends_the_text_before_it(llm):
    free = llm.generate("the cat", max_tokens=30)[0]
    stop = free.text[6:8]
    cut = llm.generate(["the cat", "a dog"], max_tokens=30, stop=stop)[0]
    assert cut.text == free.text[: free.text.index(stop)]
    assert cut.finish == "stop"
    assert cut.tokens == free.tokens[: len(cut.tokens)]
    assert len(cut.tokens) < 30
    listed = llm.generate("the cat", max_tokens=30, stop=["never seen", stop])[0]
    assert listed.text == cut.text


def test_stop_tokens_end_and_can_be_ignored(llm):
    free = llm.generate("the cat", max_tokens=10)[0]
    third = free.tokens[2].token
    place = [each.token for each in free.tokens].index(third)
    ended = llm.generate("the cat", max_tokens=10, stop_tokens=[third])[0]
    assert ended.finish == "stop"
    assert len(ended.tokens) == place + 1
    forced = {256: 100.0}  # the model's own end
    assert llm.generate("x", logit_bias=forced, max_tokens=5)[0].finish == "stop"
    unended = llm.generate("x", logit_bias=forced, max_tokens=5, ignore_eos=True)[0]
    assert [each.token for each in unended.tokens] == [256] * 5


def test_the_same_seed_gives_the_same_text_in_any_batch(llm):
    options = {"temperature": 5.0, "seed": 3, "max_tokens": 20}
    alone = llm.generate("the cat", **options)[0]
    assert llm.generate(["a dog", "the cat"], **options)[1].tokens == alone.tokens
    texts = {llm.generate("x", temperature=5.0, max_tokens=20)[0].text for _ in range(3)}
    assert len(texts) == 3  # without a seed, each draws its own


def test_logprobs_come_where_they_are_asked_for(llm):
    plain, detailed = (
        llm.generate("x", max_tokens=2, **options)[0].tokens for options in ({}, {"logprobs": 2})
    )
    assert all(each.logprob is None for each in plain)
    assert all(each.logprob == each.top[0][1] > each.top[1][1] for each in detailed)


def test_closing_a_stream_early_cancels_the_rest(llm):
    stream = llm.stream("the cat", max_tokens=200)
    next(stream)
    assert llm._engine.stats().running == 1
    stream.close()
    assert llm._engine.stats().running == 0


def test_more_prompts_than_the_queue_holds(tiny_gguf, llm):
    small = LLM(str(tiny_gguf), table="reference", threads=1, max_waiting=2, max_sequences=1)
    prompts = [f"{number}" for number in range(7)]
    assert [each.text for each in small.generate(prompts, max_tokens=4)] == [
        each.text for each in llm.generate(prompts, max_tokens=4)
    ]


@pytest.mark.parametrize(
    ("options", "field", "reason"),
    [
        ({"max_token": 5}, "max_token", "is no option"),
        ({"max_tokens": 0}, "max_tokens", "at least 1"),
        ({"max_tokens": 2.5}, "max_tokens", "whole number"),
        ({"max_tokens": True}, "max_tokens", "whole number"),
        ({"temperature": -1}, "temperature", "at least 0"),
        ({"temperature": float("nan")}, "temperature", "finite"),
        ({"temperature": "hot"}, "temperature", "finite"),
        ({"top_p": 0}, "top_p", "over 0 and at most 1"),
        ({"top_p": 1.1}, "top_p", "at most 1"),
        ({"top_k": -1}, "top_k", "at least 0"),
        ({"repetition_penalty": 0}, "repetition_penalty", "over 0"),
        ({"logprobs": -1}, "logprobs", "at least 0"),
        ({"logit_bias": {259: 1.0}}, "logit_bias", "259 is no token"),
        ({"logit_bias": {"a": 1.0}}, "logit_bias", "'a' is no token"),
        ({"logit_bias": {1: float("inf")}}, "logit_bias", "finite"),
        ({"stop_tokens": [-1]}, "stop_tokens", "-1 is no token"),
        ({"stop": ""}, "stop", "empty"),
    ],
)
def test_options_that_cannot_be_are_refused_by_name(llm, options, field, reason):
    with pytest.raises(InvalidInput, match=reason) as raised:
        llm.generate("x", **options)
    assert raised.value.field == field


@pytest.mark.parametrize(
    ("prompts", "field", "reason"),
    [
        (["fine", ""], "prompts[1]", "at least one token"),
        ([[1, 259]], "prompt", "259 is no token"),
        (["fine", "x" * 300], "prompts[1]", "300 tokens .* 256"),
        ([[]], "prompt", "at least one token"),
    ],
)
def test_prompts_that_cannot_be_are_refused_before_any_is_computed(llm, prompts, field, reason):
    steps = llm._engine.stats().steps
    with pytest.raises(InvalidInput, match=reason) as raised:
        llm.generate(prompts)
    assert raised.value.field == field
    assert llm._engine.stats().steps == steps


def test_a_model_without_a_template_does_not_chat(llm, monkeypatch):
    monkeypatch.setattr(llm, "template", None)
    with pytest.raises(InvalidInput, match="no chat template"):
        llm.chat(CHAT)


def test_what_the_engine_cannot_finish_is_raised_and_the_others_cancelled(llm, monkeypatch):
    runner = llm._engine._runner
    failed = Failed("the model's logits are not finite")
    monkeypatch.setattr(runner, "launch", lambda step: (failed,) + (None,) * (len(step.spans) - 1))
    with pytest.raises(GenerationFailed, match="not finite"):
        llm.generate(["a", "b", "c"])


def test_settings_that_do_not_exist_are_refused_by_name(tiny_gguf):
    with pytest.raises(InvalidInput, match="thread: is not a setting"):
        LLM(str(tiny_gguf), thread=2)


def test_importing_the_package_costs_nothing():
    code = "import sys, vilfredo; print('numpy' in sys.modules)"
    output = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True).stdout
    assert output.strip() == b"False"
    assert vilfredo.LLM is LLM
    with pytest.raises(AttributeError, match="no attribute 'LLMs'"):
        vilfredo.LLMs  # noqa: B018
