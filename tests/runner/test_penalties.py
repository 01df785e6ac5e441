"""Adjusted logits against the definitions, token by token."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vilfredo.core.request import Limits, Request, Sampling
from vilfredo.core.sequence import Sequence
from vilfredo.runner.penalties import Adjustment, adjusts

VOCABULARY = 12
tokens = st.lists(st.integers(0, VOCABULARY - 1), max_size=40)


def defined(logits, sampling, prompt, output):
    adjusted = logits.astype(np.float64)
    for token, bias in sampling.logit_bias:
        adjusted[token] += bias
    for token in set(prompt) | set(output):
        if adjusted[token] > 0:
            adjusted[token] /= sampling.repetition_penalty
        else:
            adjusted[token] *= sampling.repetition_penalty
    for token in set(output):
        adjusted[token] -= sampling.presence_penalty
        adjusted[token] -= sampling.frequency_penalty * output.count(token)
    return adjusted


def sequence_of(sampling, prompt, output=()):
    request = Request("r", tuple(prompt), Limits(100), sampling, output=tuple(output))
    return Sequence(request, 0.0)


samplings = st.builds(
    Sampling,
    repetition_penalty=st.sampled_from([1.0, 0.7, 1.3]),
    presence_penalty=st.sampled_from([0.0, 0.5, -2.0]),
    frequency_penalty=st.sampled_from([0.0, 0.25, -1.0]),
    logit_bias=st.lists(
        st.tuples(st.integers(0, VOCABULARY - 1), st.sampled_from([-100.0, -0.5, 3.0, 100.0])),
        max_size=4,
    ).map(tuple),
)


@given(samplings, tokens, tokens, tokens, st.integers(0, 2**32 - 1))
def test_adjustments_follow_the_definition_and_grow_with_the_output(
    sampling, prompt, output, more, seed
):
    logits = np.random.default_rng(seed).standard_normal(VOCABULARY).astype(np.float32) * 5
    sequence = sequence_of(sampling, prompt, output)
    kept = Adjustment(sampling, VOCABULARY)
    for new in ([], more):
        sequence.tokens += new
        output = output + new
        expected = defined(logits, sampling, prompt, output)
        actual = logits.copy()
        kept.apply(actual, sequence)
        np.testing.assert_allclose(actual, expected, rtol=1e-5, atol=1e-4)
        again = logits.copy()  # made again from the tokens, as after a restart
        Adjustment(sampling, VOCABULARY).apply(again, sequence)
        assert (again == actual).all()


def test_many_distinct_tokens():
    sampling = Sampling(frequency_penalty=1.0)
    output = [*range(1000), *range(500)]
    logits = np.zeros(1000, np.float32)
    Adjustment(sampling, 1000).apply(logits, sequence_of(sampling, (), output))
    assert logits.tolist() == [-2.0] * 500 + [-1.0] * 500


@pytest.mark.parametrize("token", [-1, VOCABULARY, 10**9])
def test_a_bias_for_no_token_is_refused_by_name(token):
    with pytest.raises(ValueError, match=f"logit_bias: {token} is no token"):
        Adjustment(Sampling(logit_bias=((token, 1.0),)), VOCABULARY)


def test_only_requests_that_ask_are_adjusted():
    assert not adjusts(Sampling(temperature=0.3, top_k=7, seed=5))
    for name in ("repetition_penalty", "presence_penalty", "frequency_penalty"):
        assert adjusts(Sampling(**{name: 0.5}))
    assert adjusts(Sampling(logit_bias=((1, 1.0),)))
