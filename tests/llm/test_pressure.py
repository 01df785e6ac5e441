"""Recomputed and cached keys and values give what fresh ones give, to the last bit."""

from vilfredo.llm import LLM

OPTIONS = {"max_tokens": 150, "temperature": 1.5, "seed": 11, "frequency_penalty": 0.3}


def test_preemption_and_shared_prefixes_change_no_token(tiny_gguf):
    tight = LLM(str(tiny_gguf), threads=1, kv_megabytes=1, token_budget=100)
    prompts = [
        f"{'a long beginning that many share ' * (number % 3)}{number}" for number in range(64)
    ]
    together = tight.generate(prompts, logprobs=1, **OPTIONS)
    stats = tight._engine.stats()
    assert stats.preemptions > 0
    assert stats.prefix_hits > 0
    for prompt, completion in zip(prompts[::7], together[::7], strict=True):
        fresh = LLM(str(tiny_gguf), threads=1)
        (alone,) = fresh.generate(prompt, logprobs=1, **OPTIONS)
        assert completion.tokens == alone.tokens
