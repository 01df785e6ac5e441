"""How the rows of one request are sampled: read from its Sampling once, not for every token."""

from dataclasses import dataclass

import numpy as np

from vilfredo.core.request import Sampling
from vilfredo.core.sequence import Sequence
from vilfredo.core.step import Failed
from vilfredo.ops.table import F32
from vilfredo.runner.head import HEAD
from vilfredo.runner.penalties import Adjustment, adjusts

# Logits are float32 of a magnitude around 16, so neighbors differ by about 1e-6: at a temperature
# below this there is nothing to draw, and dividing by it would only overflow.
GREEDY_BELOW = 1e-5


def is_greedy(sampling: Sampling) -> bool:
    return sampling.temperature < GREEDY_BELOW or sampling.top_k == 1


@dataclass(frozen=True, slots=True)
class Rule:
    sampling: Sampling
    plain: bool  # the likeliest token, and nothing else
    draws: bool
    width: int  # how many of the largest logits it will want to see, most likely
    adjustment: Adjustment | None
    refusal: Failed | None  # why it can have no token

    @classmethod
    def of(cls, sampling: Sampling, vocabulary: int) -> "Rule":
        draws = not is_greedy(sampling)
        width = max(HEAD if draws else 1, sampling.logprobs or 0)
        if not adjusts(sampling):
            return cls(sampling, not draws and sampling.logprobs is None, draws, width, None, None)
        try:
            adjustment = Adjustment(sampling, vocabulary)
        except ValueError as error:
            return cls(sampling, False, False, width, None, Failed(str(error)))
        return cls(sampling, False, draws, width, adjustment, None)

    def adjust(self, logits: F32, sequence: Sequence) -> None:
        """Changes logits [vocabulary] in place, as the request asks."""
        if self.adjustment is not None:
            with np.errstate(all="ignore"):  # a row that overflows fails by itself
                self.adjustment.apply(logits, sequence)
