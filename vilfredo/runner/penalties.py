"""What a request adds to the model's logits: its bias, and penalties for tokens already there.

A cache like everything else about a sequence: all of it can be made again from the tokens.
"""

import numpy as np

from vilfredo.core.request import Sampling
from vilfredo.core.sequence import Sequence
from vilfredo.ops.table import F32


def adjusts(sampling: Sampling) -> bool:
    return bool(sampling.logit_bias) or _penalizes(sampling)


def _penalizes(sampling: Sampling) -> bool:
    return (
        sampling.repetition_penalty != 1
        or sampling.presence_penalty != 0
        or sampling.frequency_penalty != 0
    )


class Adjustment:
    """The bias and the distinct tokens of one request; its cost is that of those tokens alone."""

    __slots__ = ("_bias", "_biased", "_counts", "_ids", "_places", "_read")

    def __init__(self, sampling: Sampling, vocabulary: int) -> None:
        """Raises ValueError where a bias is for a token that does not exist."""
        for token, _ in sampling.logit_bias:
            if not 0 <= token < vocabulary:
                raise ValueError(f"logit_bias: {token} is no token of {vocabulary}")
        self._biased = np.array([token for token, _ in sampling.logit_bias], np.int64)
        self._bias = np.array([bias for _, bias in sampling.logit_bias], np.float32)
        self._places: dict[int, int] = {}  # token -> its place in the arrays
        self._ids = np.zeros(256, np.int64)  # distinct tokens, in order of appearance
        self._counts = np.zeros(256, np.float32)  # how often each is in the output
        self._read = 0  # tokens of the sequence that are counted

    def apply(self, logits: F32, sequence: Sequence) -> None:
        """Changes logits [vocabulary] in place: bias, then repetition (Keskar et al. 2019; prompt
        and output), then presence and frequency (OpenAI; output alone)."""
        sampling = sequence.request.sampling
        np.add.at(logits, self._biased, self._bias)
        if not _penalizes(sampling):
            return
        self._read_on(sequence)
        ids, counts = self._ids[: len(self._places)], self._counts[: len(self._places)]
        values = logits[ids]
        if sampling.repetition_penalty != 1:
            factor = np.float32(sampling.repetition_penalty)
            values = np.where(values > 0, values / factor, values * factor)
        values -= np.float32(sampling.presence_penalty) * (counts > 0)
        values -= np.float32(sampling.frequency_penalty) * counts
        logits[ids] = values

    def _read_on(self, sequence: Sequence) -> None:
        """Counts the tokens that came since the last call."""
        prompt = len(sequence.request.prompt)
        for index in range(self._read, len(sequence.tokens)):
            token = sequence.tokens[index]
            place = self._places.setdefault(token, len(self._places))
            if place == len(self._ids):
                self._ids = np.concatenate([self._ids, np.zeros_like(self._ids)])
                self._counts = np.concatenate([self._counts, np.zeros_like(self._counts)])
            self._ids[place] = token
            self._counts[place] += index >= prompt
        self._read = len(sequence.tokens)
