"""Quality is not sold: over 2,000 tokens of text (tests/golden/passage.txt: prose, code and several
scripts, put together from this project's own pages) the tables stay near the float32 reference."""

from pathlib import Path

import numpy as np
import pytest

from vilfredo.base.errors import InvalidInput
from vilfredo.models.divergence import _cuts, divergence, kl_divergence
from vilfredo.ops.choose import choose, tables
from vilfredo.ops.reference import ReferenceKernels
from vilfredo.text.load import load_tokenizer
from vilfredo.weights.open import open_checkpoint

PASSAGE = Path(__file__).parents[1] / "golden" / "passage.txt"
TOKENS = 2000
MODELS = ("smollm2-135m", "gemma3-270m", "qwen2.5-coder-0.5b", "qwen2.5-coder-1.5b")
TABLE = tables()[0]  # the others are compared on the golden prompts


def test_the_divergence_is_that_of_two_known_distributions():
    wanted = np.log(np.array([[0.5, 0.5], [0.9, 0.1]], np.float32))
    got = np.log(np.array([[0.5, 0.5], [0.5, 0.5]], np.float32)) + 3  # logits may be shifted
    expected = [0.0, 0.9 * np.log(0.9 / 0.5) + 0.1 * np.log(0.1 / 0.5)]
    np.testing.assert_allclose(kl_divergence(wanted, got), expected, atol=1e-6)


@pytest.mark.parametrize("count", [1, 31, 32, 33, 63, 64, 65, 200, 2000])
def test_cuts_cover_the_text_and_end_one_by_one(count):
    cuts = list(_cuts(count))
    assert [position for start, end in cuts for position in range(start, end)] == [*range(count)]
    assert all(end - start == 1 for start, end in cuts[-min(count, 32) :])


def test_the_reference_hardly_parts_from_itself(twins):
    gguf, _ = twins("llama")
    result = divergence(gguf, ReferenceKernels(), [3, 1, 4, 1, 5, 9, 2, 6] * 5)
    assert result.tokens == 40
    assert result.mean < 1e-6  # its keys and values are float16 on one side
    assert result.agreement == 1


def test_a_text_without_tokens_is_refused(twins):
    gguf, _ = twins("llama")
    with pytest.raises(InvalidInput, match="text"):
        divergence(gguf, ReferenceKernels(), [])


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=pytest.mark.large if "1.5b" in name else pytest.mark.model)
        for name in MODELS
    ],
)
def test_a_long_text_is_read_as_the_reference_reads_it(name, model_path, capsys):
    checkpoint = open_checkpoint(model_path(name))
    tokens = load_tokenizer(checkpoint).encode(PASSAGE.read_text(encoding="utf-8"))[:TOKENS]
    assert len(tokens) == TOKENS
    result = divergence(checkpoint, choose(TABLE, 2), tokens)
    with capsys.disabled():
        print(
            f"\n{name}, {result.table}: KL divergence {result.mean:.5f} nats a token, "
            f"same likeliest token {result.agreement:.2%}"
        )
    assert result.mean <= 0.002
    assert result.agreement >= 0.98
