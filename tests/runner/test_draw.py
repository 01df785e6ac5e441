"""The draw against its definition, written here in the plainest NumPy."""

import dataclasses

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vilfredo.core.request import Sampling
from vilfredo.runner.draw import draw, uniform
from vilfredo.runner.head import HEAD, heads


def falling(logits):
    return np.argsort(-logits, kind="stable")


def defined(logits, sampling):
    """Tokens in the order of cumulation and their probabilities, all in float64."""
    falls = falling(logits)
    weights = np.exp((logits.astype(np.float64) - logits.max()) / sampling.temperature)[falls]
    if sampling.top_k:
        weights[sampling.top_k :] = 0
    weights /= weights.sum()
    if sampling.top_p < 1:
        weights[1 + int(np.argmax(np.cumsum(weights) >= sampling.top_p)) :] = 0
    weights[weights < sampling.min_p * weights[0]] = 0
    order = np.concatenate([falls[:HEAD], np.sort(falls[HEAD:])])
    by_id = np.empty(len(logits))
    by_id[falls] = weights / weights.sum()
    return order, by_id[order]


def drawn(logits, sampling, number):
    ids = falling(logits)[:HEAD].astype(np.int32)
    peak = logits.max()
    logsumexp = np.float32(peak + np.log(np.exp(logits - peak).sum()))
    (head,) = heads(
        ids[None], logits[ids][None], logsumexp[None], [sampling.temperature], len(logits)
    )
    return draw(logits, head, sampling, number)


def check(logits, sampling, number):
    order, weights = defined(logits, sampling)
    cumulated = np.cumsum(weights)
    token = drawn(logits, sampling, number)
    place = int(np.flatnonzero(order == token)[0])
    assert weights[place] > 0
    # float32 masses may move a border by its precision, never more.
    below = cumulated[place] - weights[place]
    assert below - 1e-5 <= number <= cumulated[place] + 1e-5


truncations = st.fixed_dictionaries(
    {
        "temperature": st.sampled_from([0.1, 0.7, 1.0, 1.3, 5.0]),
        "top_k": st.sampled_from([0, 0, 2, 5, 63, 64, 65, 500, 1024, 1500, 10**6]),
        "top_p": st.sampled_from([1.0, 1e-9, 0.1, 0.53, 0.917, 0.9999]),
        "min_p": st.sampled_from([0.0, 0.0, 0.0113, 0.317, 1.0]),
    }
)


@settings(max_examples=200, deadline=None)
@given(
    st.integers(0, 2**32 - 1),
    st.sampled_from([1, 2, 63, 64, 65, 300, 3000]),
    st.sampled_from([0.1, 1.0, 4.0]),
    truncations,
    st.floats(0, 1, exclude_max=True),
)
def test_the_token_is_that_of_the_definition(seed, vocabulary, spread, truncation, number):
    random = np.random.default_rng(seed)
    logits = (random.standard_normal(vocabulary) * spread).astype(np.float32)
    check(logits, Sampling(**truncation), number)


@pytest.mark.parametrize("vocabulary", [HEAD - 1, HEAD, HEAD + 1, 2500])
@pytest.mark.parametrize(
    "sampling",
    [
        Sampling(),
        Sampling(temperature=0.5),
        Sampling(top_p=0.95),
        Sampling(min_p=0.02),
        Sampling(top_k=HEAD + 7, top_p=0.9),
        Sampling(top_k=40, min_p=0.1),
    ],
)
def test_draws_follow_the_distribution(vocabulary, sampling):
    logits = np.random.default_rng(vocabulary).standard_normal(vocabulary).astype(np.float32) * 2
    numbers = (np.arange(800) + 0.5) / 800  # a grid: the counts err by rounding alone
    counts = np.bincount([drawn(logits, sampling, x) for x in numbers], minlength=vocabulary)
    order, weights = defined(logits, sampling)
    probability = np.zeros(vocabulary)
    probability[order] = weights
    assert np.abs(counts / 800 - probability).max() <= 1.1 / 800


@pytest.mark.parametrize("number", [0.0, 0.5, 1 - 2**-53])
@pytest.mark.parametrize("truncation", [{}, {"top_p": 1e-12}, {"min_p": 1.0}, {"top_p": 0.4503}])
def test_equal_logits_and_borders_of_the_number(number, truncation):
    for vocabulary in (1, 10, 100, 2000):
        logits = np.full(vocabulary, 3.0, np.float32)
        check(logits, Sampling(**truncation), number)


@pytest.mark.parametrize("number", [0.0, 0.3, 1 - 2**-53])
@pytest.mark.parametrize("sampling", [Sampling(), Sampling(top_k=90), Sampling(top_p=0.99)])
def test_forbidden_tokens_are_never_drawn(number, sampling):
    logits = np.full(3000, -np.inf, np.float32)
    logits[[7, 2999]] = 1.0
    assert drawn(logits, sampling, number) in (7, 2999)


@pytest.mark.parametrize("temperature", [1e-4, 1e-3, 1e6])
def test_extreme_temperatures_do_not_overflow(temperature):
    logits = np.array([-80, 0, 80, 79], np.float32)
    with np.errstate(over="raise", invalid="raise", divide="raise"):
        token = drawn(logits, Sampling(temperature=temperature), 0.1)
    assert token == 2


def test_numbers_depend_on_seed_and_index_alone_and_spread_evenly():
    numbers = np.array([uniform(seed, index) for seed in range(-20, 20) for index in range(100)])
    assert len(set(numbers)) == len(numbers)
    assert ((numbers >= 0) & (numbers < 1)).all()
    counts = np.histogram(numbers, bins=20, range=(0, 1))[0]
    # Chi-square with 19 degrees of freedom is over 43.8 once in a thousand.
    assert ((counts - 200) ** 2 / 200).sum() < 43.8
    assert uniform(7, 3) == uniform(7, 3)
    assert uniform(2**200 + 1, 0) == uniform(1, 0)  # seeds count by their low 64 bits


def test_neighboring_seeds_are_not_correlated():
    first = np.array([uniform(1, index) for index in range(2000)])
    second = np.array([uniform(2, index) for index in range(2000)])
    assert abs(np.corrcoef(first, second)[0, 1]) < 0.08  # 3.5 standard errors


def test_truncation_of_every_kind_keeps_at_least_the_best():
    logits = np.arange(100, dtype=np.float32)
    for change in ({"top_p": 1e-300}, {"min_p": 1.0}, {"top_k": 1}):
        sampling = dataclasses.replace(Sampling(), **change)
        assert drawn(logits, sampling, 0.999) == 99
