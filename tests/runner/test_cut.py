import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vilfredo.core.request import Sampling
from vilfredo.runner.cut import BINS, cut_weights


def defined(logits, sampling):
    order = np.argsort(-logits, kind="stable")
    weights = np.exp((logits.astype(np.float64) - logits.max()) / sampling.temperature)[order]
    weights[sampling.top_k or len(logits) :] = 0
    if sampling.top_p < 1:
        cumulated = np.cumsum(weights)
        weights[1 + int(np.argmax(cumulated >= sampling.top_p * cumulated[-1])) :] = 0
    weights[weights < sampling.min_p] = 0
    by_id = np.empty(len(logits))
    by_id[order] = weights
    return by_id


# Multiples of a quarter tie often; the shares below are none that such weights sum up to.
logits_of = st.lists(st.integers(-40, 40), min_size=1, max_size=60).map(
    lambda values: np.array(values, np.float32) / 4
)


@settings(max_examples=200)
@given(
    logits_of,
    st.sampled_from([0.2, 1.0, 3.0, 1e4]),
    st.integers(0, 61),
    st.sampled_from([1.0, 1e-12, 0.0917, 0.5013, 0.9731, 0.999917]),
    st.sampled_from([0.0, 0.0501, 0.6007, 1.0]),
)
def test_survivors_are_those_of_the_definition(logits, temperature, top_k, top_p, min_p):
    sampling = Sampling(temperature, top_k, top_p, min_p)
    weights = cut_weights(logits, sampling)
    tiny = float(np.finfo(np.float32).tiny)  # below it float32 has fewer digits
    np.testing.assert_allclose(weights, defined(logits, sampling), rtol=1e-5, atol=tiny)


@pytest.mark.parametrize("size", [BINS, 60_000])
@pytest.mark.parametrize("temperature", [0.5, 1.0, 30.0])
@pytest.mark.parametrize("top_p", [0.3001, 0.9003, 0.999])
def test_a_nucleus_of_many_tokens(size, temperature, top_p):
    logits = np.random.default_rng(size).standard_normal(size).astype(np.float32) * 3
    logits[::7] = -np.inf
    sampling = Sampling(temperature, top_p=top_p)
    actual, expected = cut_weights(logits, sampling), defined(logits, sampling)
    # Sums of 60,000 float32 weights may move the border by a token.
    assert np.count_nonzero((actual > 0) != (expected > 0)) <= 1
    both = (actual > 0) & (expected > 0)
    np.testing.assert_allclose(actual[both], expected[both], rtol=1e-5)


def test_differences_that_are_hardly_numbers():
    logits = np.array([0, -1e-45, -2e-45, -np.inf], np.float32)
    with np.errstate(all="raise", under="ignore"):
        weights = cut_weights(logits, Sampling(top_p=0.5))
    assert weights.tolist() == [1, 1, 0, 0]
