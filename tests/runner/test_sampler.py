"""Rows are drawn as each would be alone; log-probabilities are those of the adjusted logits."""

import dataclasses
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vilfredo.core.request import Limits, Request, Sampling
from vilfredo.core.sequence import Sequence
from vilfredo.core.step import Failed, Sampled
from vilfredo.ops.choose import choose, tables
from vilfredo.runner.sampler import Sampler

VOCABULARY = 150


@pytest.fixture(params=tables(), scope="module")
def kernels(request):
    return choose(request.param, 1)


def sequence_of(sampling, name="r", prompt=(1, 2, 3), output=()):
    return Sequence(Request(name, tuple(prompt), Limits(99), sampling, output=tuple(output)), 0.0)


def logits_of(rows, seed=0, vocabulary=VOCABULARY):
    random = np.random.default_rng(seed)
    return random.standard_normal((rows, vocabulary)).astype(np.float32) * 3


def sample_one(kernels, logits, sampling, **what):
    return Sampler(kernels).sample(logits[None].copy(), [sequence_of(sampling, **what)])[0]


samplings = st.builds(
    Sampling,
    temperature=st.sampled_from([0.0, 1e-6, 0.5, 1.0, 2.0]),
    top_k=st.sampled_from([0, 1, 3, 100, 10**6]),
    top_p=st.sampled_from([1.0, 0.9, 1e-9]),
    min_p=st.sampled_from([0.0, 0.05]),
    repetition_penalty=st.sampled_from([1.0, 1.2]),
    presence_penalty=st.sampled_from([0.0, 0.5]),
    logit_bias=st.sampled_from([(), ((5, 100.0),), ((5, -100.0), (6, 2.0))]),
    seed=st.integers(-5, 2**70),
    logprobs=st.sampled_from([None, 0, 5, 10**6]),
)


@settings(max_examples=30, deadline=None)
@given(
    st.lists(st.tuples(samplings, st.lists(st.integers(0, 149), max_size=5)), max_size=6),
    st.randoms(use_true_random=False),
)
def test_a_row_does_not_depend_on_the_rows_beside_it(kernels, asked, shuffle):
    logits = logits_of(len(asked))
    alone = [
        sample_one(kernels, logits[row], sampling, output=output)
        for row, (sampling, output) in enumerate(asked)
    ]
    order = list(range(len(asked)))
    shuffle.shuffle(order)
    sequences = [sequence_of(asked[row][0], f"r{row}", output=asked[row][1]) for row in order]
    together = Sampler(kernels).sample(logits[order], sequences)
    assert together == [alone[row] for row in order]


def test_greedy_takes_the_largest_and_the_lower_id_among_equals(kernels):
    logits = np.zeros((1, VOCABULARY), np.float32)
    logits[0, [77, 140]] = 2
    for temperature in (0.0, 1e-300, 1e-6):
        assert sample_one(kernels, logits[0], Sampling(temperature)) == Sampled(77)


def test_the_same_seed_gives_the_same_token_at_the_same_place_of_the_output(kernels):
    logits = np.zeros(VOCABULARY, np.float32)

    def drawn(seed, count):
        output = (4,) * count
        return sample_one(kernels, logits, Sampling(seed=seed), output=output)

    assert drawn(1, 0) == drawn(1, 0)
    assert len({drawn(1, count).token for count in range(20)}) > 10
    assert len({drawn(seed, 0).token for seed in range(20)}) > 10


def test_logprobs_are_those_before_temperature_and_truncation(kernels):
    logits = logits_of(1)[0]
    sampling = Sampling(temperature=0.3, top_k=2, logprobs=7)
    result = sample_one(kernels, logits, sampling)
    exact = logits.astype(np.float64)
    exact -= exact.max() + np.log(np.exp(exact - exact.max()).sum())
    best = np.argsort(-exact, kind="stable")[:7]
    assert result.token in best[:2]
    assert result.logprob == pytest.approx(exact[result.token], abs=1e-5)
    assert [token for token, _ in result.top] == best.tolist()
    assert [value for _, value in result.top] == pytest.approx(exact[best], abs=1e-5)


def test_logprobs_are_those_after_bias_and_penalties(kernels):
    logits = np.zeros(VOCABULARY, np.float32)
    sampling = Sampling(0.0, logit_bias=((9, 2.0),), presence_penalty=1.0, logprobs=2)
    result = sample_one(kernels, logits, sampling, output=(8,))
    total = math.log(VOCABULARY - 2 + math.exp(2) + math.exp(-1))
    assert result.token == 9
    assert result.logprob == pytest.approx(2 - total, abs=1e-5)
    assert result.top[1] == (0, pytest.approx(-total, abs=1e-5))


def test_alternatives_come_in_order_and_ties_by_id(kernels):
    logits = np.zeros(VOCABULARY, np.float32)
    logits[100] = 1
    result = sample_one(kernels, logits, Sampling(0.0, logprobs=4))
    assert [token for token, _ in result.top] == [100, 0, 1, 2]
    none = sample_one(kernels, logits, Sampling(0.0, logprobs=0))
    assert none.top == ()
    assert none.logprob == result.logprob
    every = sample_one(kernels, logits, Sampling(logprobs=10**6))
    assert len(every.top) == VOCABULARY


@pytest.mark.parametrize("sampling", [Sampling(0.0), Sampling(1.0, logprobs=3)])
@pytest.mark.parametrize("poison", [math.nan, math.inf, None])
def test_a_row_without_a_distribution_fails_alone(kernels, sampling, poison):
    logits = logits_of(3)
    expected = [sample_one(kernels, row, sampling) for row in logits]
    if poison is None:
        logits[1] = -np.inf
    else:
        logits[1, 7] = poison
    sequences = [sequence_of(sampling, name) for name in "abc"]
    results = Sampler(kernels).sample(logits, sequences)
    assert results == [expected[0], Failed("the model's logits are not finite"), expected[2]]


def test_a_bias_for_no_token_fails_its_row_alone(kernels):
    logits = logits_of(2)
    wrong = sequence_of(Sampling(0.0, logit_bias=((VOCABULARY, 1.0),)), "wrong")
    right = sequence_of(Sampling(0.0), "right")
    results = Sampler(kernels).sample(logits.copy(), [wrong, right])
    assert results == [
        Failed(f"logit_bias: {VOCABULARY} is no token of {VOCABULARY}"),
        Sampled(int(logits[1].argmax())),
    ]


def test_an_infinite_bias_fails_its_row_and_a_ban_holds(kernels):
    logits = logits_of(1)[0]
    assert isinstance(sample_one(kernels, logits, Sampling(logit_bias=((3, math.inf),))), Failed)
    best = int(logits.argmax())
    banned = Sampling(0.0, logit_bias=((best, -math.inf),), logprobs=0)
    assert sample_one(kernels, logits, banned).token == int(np.argsort(-logits)[1])


def test_a_bias_of_100_decides(kernels):
    logits = logits_of(1)[0]
    for seed in range(5):
        assert sample_one(kernels, logits, Sampling(logit_bias=((3, 100.0),), seed=seed)).token == 3
        banned = Sampling(2.0, logit_bias=((int(logits.argmax()), -100.0),), seed=seed)
        assert sample_one(kernels, logits, banned).token != logits.argmax()


def test_what_is_kept_can_be_forgotten_and_made_again(kernels):
    sampling = Sampling(0.0, frequency_penalty=1.5)
    sequence = sequence_of(sampling)
    sampler, logits = Sampler(kernels), logits_of(1)
    for _ in range(5):
        results = [sampler.sample(logits.copy(), [sequence])[0]]
        sampler.forget(sequence.request.id)
        results.append(sampler.sample(logits.copy(), [sequence])[0])
        moved = sequence_of(sampling, "elsewhere", output=sequence.tokens[3:])
        results.append(sampler.sample(logits.copy(), [moved])[0])
        sampler.forget("elsewhere")
        assert results[0] == results[1] == results[2]
        sequence.tokens.append(results[0].token)
    assert len(set(sequence.tokens[3:])) > 1  # the penalty moved it on
    sampler.forget("never seen")


def test_one_token_vocabularies_and_no_rows(kernels):
    sampling = dataclasses.replace(Sampling(), logprobs=3)
    result = sample_one(kernels, np.array([-3.0], np.float32), sampling)
    assert result == Sampled(0, 0.0, ((0, 0.0),))
    assert Sampler(kernels).sample(np.empty((0, 5), np.float32), []) == []
