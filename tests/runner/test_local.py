"""The whole path from a step to tokens: however a sequence is cut into spans, and whatever runs
beside it, its tokens and log-probabilities are the same."""

import itertools
from array import array

import pytest

from vilfredo.core.request import Limits, Request, Sampling
from vilfredo.core.sequence import Sequence
from vilfredo.core.step import Failed, Sampled, Span, Step
from vilfredo.models.decoder import Decoder
from vilfredo.models.weights import load
from vilfredo.ops.choose import choose, tables
from vilfredo.runner.kvstore import KVStore
from vilfredo.runner.local import LocalRunner
from vilfredo.runner.sampler import Sampler

BLOCK = 16
GREEDY = Sampling(0.0, logprobs=3)


@pytest.fixture(scope="module")
def decoders(tiny_spec, tiny_checkpoint):
    kernels = {name: choose(name, 1) for name in tables()}
    weights = {name: load(tiny_spec, tiny_checkpoint, each) for name, each in kernels.items()}
    return {
        name: (each, Decoder(tiny_spec, weights[name], each, token_budget=64, max_samples=8))
        for name, each in kernels.items()
    }


def runner_of(kernels, decoder, store):
    return LocalRunner(decoder, store, Sampler(kernels), decoder.spec.vocabulary)


@pytest.fixture(params=tables())
def runner(request, decoders, tiny_spec):
    kernels, decoder = decoders[request.param]
    return runner_of(kernels, decoder, KVStore.allocate(tiny_spec, 32, BLOCK))


def sequence_of(prompt, blocks, sampling=GREEDY, name="r"):
    sequence = Sequence(Request(name, tuple(prompt), Limits(99), sampling), 0.0)
    sequence.blocks = array("i", blocks)
    return sequence


def span(sequence, start, count):
    return Span(sequence, start, count, samples=start + count == len(sequence.tokens))


def run(runner, *spans):
    return runner.launch(Step(0, spans))


def generate(runner, sequence, count):
    """Prefill at once, then token by token."""
    results = []
    start = 0
    for _ in range(count):
        (result,) = run(runner, span(sequence, start, len(sequence.tokens) - start))
        results.append(result)
        start = len(sequence.tokens)
        sequence.tokens.append(result.token)
    return results


def assert_same(actual, expected):
    for mine, other in zip(actual, expected, strict=True):
        assert isinstance(mine, Sampled)
        assert mine.token == other.token
        assert mine.logprob == pytest.approx(other.logprob, abs=2e-3)  # float16 KV, BLAS sums
        assert [token for token, _ in mine.top] == [token for token, _ in other.top]


PROMPT = [(7 * i * i + 3) % 50 for i in range(37)]


@pytest.fixture
def alone(runner):
    return generate(runner, sequence_of(PROMPT, [1, 2, 3, 4]), 8)


@pytest.mark.parametrize("cuts", [[16, 32], [1, 2, 36], [5], list(range(1, 37))])
def test_a_prompt_in_chunks_gives_what_it_gives_at_once(runner, alone, cuts):
    sequence = sequence_of(PROMPT, [20, 9, 14])
    borders = [0, *cuts, len(PROMPT)]
    *silent, last = [
        run(runner, span(sequence, start, end - start))
        for start, end in itertools.pairwise(borders)
    ]
    assert silent == [(None,)] * len(cuts)
    assert_same(last, alone[:1])


def test_shared_blocks_of_a_prefix_give_what_fresh_ones_give(runner, alone):
    """The first two blocks were computed for another request with the same beginning."""
    other = sequence_of([*PROMPT[:32], 5, 6], [11, 12, 13])
    run(runner, span(other, 0, 34))
    sequence = sequence_of(PROMPT, [11, 12, 21])
    assert_same(run(runner, span(sequence, 32, 5)), alone[:1])


def test_recomputation_after_preemption_goes_on_as_before(runner, alone):
    sequence = sequence_of(PROMPT, [5, 6, 7, 8])
    generate(runner, sequence, 5)
    sequence.blocks = array("i", [30, 28, 26, 24])
    results = run(runner, span(sequence, 0, len(sequence.tokens)))
    assert_same(results, alone[5:6])


def test_in_one_batch_each_gets_what_it_gets_alone(runner, alone):
    """Chunks, decodes and a sampler of another kind, side by side in every step."""
    drawn = Sampling(0.8, top_p=0.9, seed=3, logprobs=3, frequency_penalty=0.5)
    expected = generate(runner, sequence_of(PROMPT[:9], [29], drawn, "x"), 6)
    first = sequence_of(PROMPT, [1, 2, 3, 4], name="first")
    second = sequence_of(PROMPT[:9], [10], drawn, "second")
    chunked = sequence_of(PROMPT, [15, 16, 17, 18], name="chunked")
    firsts, seconds = [], []
    for step in range(6):
        spans = [
            span(each, start, len(each.tokens) - start)
            for each in (first, second)
            for start in [0 if step == 0 else len(each.tokens) - 1]
        ]
        chunk = span(chunked, 6 * step, 6)
        one, none, two = run(runner, spans[0], chunk, spans[1])
        assert none is None
        firsts.append(one)
        seconds.append(two)
        first.tokens.append(one.token)
        second.tokens.append(two.token)
    assert_same(firsts, alone[:6])
    assert_same(seconds, expected)
    assert_same(run(runner, span(chunked, 36, 1)), alone[:1])


def test_tables_agree_with_the_reference(runner, decoders, tiny_spec, alone):
    kernels, decoder = decoders["reference"]
    store = KVStore.allocate(tiny_spec, 8, BLOCK)
    reference = runner_of(kernels, decoder, store)
    assert_same(alone, generate(reference, sequence_of(PROMPT, [1, 2, 3, 4]), 8))


@pytest.mark.parametrize("token", [-1, 50, 2**40, 2**80])
def test_a_token_that_does_not_exist_fails_its_span_alone(runner, alone, token):
    wrong = sequence_of([1, token, 2], [9], name="wrong")
    right = sequence_of(PROMPT, [1, 2, 3], name="right")
    failed, result = run(runner, span(wrong, 0, 3), span(right, 0, 37))
    assert failed == Failed("the prompt has a token outside the vocabulary of 50")
    assert_same([result], alone[:1])
    assert run(runner, span(wrong, 0, 2)) == (failed,)


def test_an_empty_step_gives_nothing(runner):
    assert run(runner) == ()


def test_sampler_state_is_forgotten_and_made_again(runner):
    sampling = Sampling(0.0, frequency_penalty=2.0, logprobs=3)
    sequence = sequence_of(PROMPT, [1, 2, 3, 4], sampling)
    generate(runner, sequence, 4)
    last = span(sequence, len(sequence.tokens) - 1, 1)
    before = run(runner, last)
    runner.forget("r")
    runner.forget("unknown")
    assert run(runner, last) == before
