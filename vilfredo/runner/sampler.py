"""Draws the next token of each sequence from its logits. A row never depends on other rows."""

from collections.abc import Sequence as Rows

import numpy as np

from vilfredo.core.request import Sampling
from vilfredo.core.sequence import Sequence
from vilfredo.core.step import Failed, Sampled
from vilfredo.ops.table import F32, I32, Kernels
from vilfredo.runner.draw import HEAD, draw, is_greedy, uniform
from vilfredo.runner.penalties import Adjustment, adjusts

NOT_FINITE = Failed("the model's logits are not finite")


class Sampler:
    def __init__(self, kernels: Kernels) -> None:
        self._kernels = kernels
        self._adjustments: dict[str, Adjustment] = {}  # by request id; each can be made again

    def sample(self, logits: F32, sequences: Rows[Sequence]) -> list[Sampled | Failed]:
        """One token a row. logits [rows, vocabulary] are changed in place: they become those of
        the distribution that log-probabilities are taken from."""
        refused: dict[int, Failed] = {}
        for row, sequence in enumerate(sequences):
            if adjusts(sequence.request.sampling):
                try:
                    self._adjust(logits[row], sequence)
                except ValueError as error:
                    refused[row] = Failed(str(error))
        width = max((_width(each.request.sampling) for each in sequences), default=1)
        ids, values, logsumexp = self._top(logits, width)
        if width == 1 and not refused and all(map(_plain, sequences)):
            return [Sampled(token) if token >= 0 else NOT_FINITE for token in ids[:, 0].tolist()]
        return [
            refused.get(row)
            or self._row(logits[row], ids[row], values[row], float(logsumexp[row]), sequence)
            for row, sequence in enumerate(sequences)
        ]

    def forget(self, request_id: str) -> None:
        self._adjustments.pop(request_id, None)

    def _adjust(self, logits: F32, sequence: Sequence) -> None:
        request = sequence.request
        adjustment = self._adjustments.get(request.id)
        if adjustment is None:
            adjustment = Adjustment(request.sampling, len(logits))
            self._adjustments[request.id] = adjustment
        with np.errstate(all="ignore"):  # a row that overflows fails by itself
            adjustment.apply(logits, sequence)

    def _row(
        self, logits: F32, ids: I32, values: F32, logsumexp: float, sequence: Sequence
    ) -> Sampled | Failed:
        """ids and values [width] are the head of logits [vocabulary], in falling order."""
        if ids[0] < 0:
            return NOT_FINITE
        sampling = sequence.request.sampling
        if is_greedy(sampling):
            token = int(ids[0])
        else:
            number = uniform(sampling.seed, sequence.output_count)
            token = draw(logits, ids[:HEAD], values[:HEAD], logsumexp, sampling, number)
        if sampling.logprobs is None:
            return Sampled(token)
        tops = zip(
            ids[: sampling.logprobs].tolist(),
            (values[: sampling.logprobs] - np.float64(logsumexp)).tolist(),
            strict=True,
        )
        return Sampled(token, float(logits[token]) - logsumexp, tuple(tops))

    def _top(self, logits: F32, width: int) -> tuple[I32, F32, F32]:
        rows, vocabulary = logits.shape
        width = min(width, vocabulary)
        ids = np.empty((rows, width), np.int32)
        values = np.empty((rows, width), np.float32)
        logsumexp = np.empty(rows, np.float32)
        self._kernels.top(logits, ids, values, logsumexp)
        return ids, values, logsumexp


def _width(sampling: Sampling) -> int:
    """How many of the largest logits the row will want to see, most likely."""
    return max(1 if is_greedy(sampling) else HEAD, sampling.logprobs or 0)


def _plain(sequence: Sequence) -> bool:
    sampling = sequence.request.sampling
    return is_greedy(sampling) and sampling.logprobs is None
