"""Verification finds a fault where it lies, and nothing where there is none."""

import sys

import numpy as np
import pytest

from vilfredo.base.errors import InvalidInput, Unsupported
from vilfredo.models.verify import verify, verify_against_transformers
from vilfredo.ops.reference import ReferenceKernels

TOKENS = [3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8, 9, 7, 9, 3, 2]  # more than a block


class Faulty(ReferenceKernels):
    """Wrong in the second layer's feed-forward alone: its down-projection is 10 % too strong."""

    name = "faulty"

    def linear(self, x, weight, bias, out):
        super().linear(x, weight, bias, out)
        if weight.raw.name == "blk.1.ffn_down.weight":
            out *= 1.1


def test_the_reference_agrees_with_itself(twins):
    gguf, _ = twins("llama")
    result = verify(gguf, ReferenceKernels(), TOKENS)
    assert (result.table, result.against) == ("reference", "reference")
    assert all(each.largest == each.mean == 0 for each in result.differences)
    assert (result.divergence, result.largest_divergence, result.agreement) == (0, 0, 1)


def test_a_fault_shows_from_the_layer_it_lies_in(twins):
    gguf, _ = twins("llama")
    result = verify(gguf, Faulty(), TOKENS)
    largest = {each.name: each.largest for each in result.differences}
    first_wrong = next(name for name, value in largest.items() if value > 0)
    assert first_wrong == "layers.1.feed_forward"
    assert 0 < result.divergence <= result.largest_divergence
    assert result.table == "faulty"


def test_a_prompt_without_tokens_is_refused(twins):
    gguf, _ = twins("llama")
    for compare in (verify, verify_against_transformers):
        with pytest.raises(InvalidInput, match="prompt"):
            compare(gguf, ReferenceKernels(), [])


def test_without_transformers_it_says_so(twins, monkeypatch):
    gguf, _ = twins("llama")
    monkeypatch.setitem(sys.modules, "transformers", None)
    with pytest.raises(Unsupported, match="needs it and torch"):
        verify_against_transformers(gguf, ReferenceKernels(), TOKENS)


def test_relative_difference_is_of_the_rows_own_size(twins):
    gguf, _ = twins("llama")
    result = verify(gguf, Faulty(), TOKENS)
    last = next(each for each in result.differences if each.name == "layers.1.feed_forward")
    assert 0.001 < last.mean < 0.2
    assert last.mean < last.largest
    assert np.isfinite(last.largest)
