"""Draws the next token of each sequence from its logits. A row never depends on other rows."""

from collections.abc import Sequence as Rows
from operator import attrgetter

import numpy as np

from vilfredo.core.request import Request
from vilfredo.core.sequence import Sequence
from vilfredo.core.step import Failed, Sampled
from vilfredo.ops.table import F32, I32, Kernels
from vilfredo.runner.draw import draw, uniform
from vilfredo.runner.head import HEAD, heads
from vilfredo.runner.rule import Rule

NOT_FINITE = Failed("the model's logits are not finite")

_is_plain = attrgetter("plain")


class Sampler:
    def __init__(self, kernels: Kernels) -> None:
        self._kernels = kernels
        self._rules: dict[str, Rule] = {}  # by request id; each can be made again

    def sample(self, logits: F32, sequences: Rows[Sequence]) -> list[Sampled | Failed]:
        """One token a row. logits [rows, vocabulary] are changed in place: they become those of
        the distribution that log-probabilities are taken from."""
        known = self._rules.get
        rules = [known(s.request.id) or self._read(s.request, logits) for s in sequences]
        if all(map(_is_plain, rules)):
            ids, _, _ = self._top(logits, 1)
            return [Sampled(token) if token >= 0 else NOT_FINITE for token in ids[:, 0].tolist()]
        for row, rule in enumerate(rules):
            rule.adjust(logits[row], sequences[row])
        ids, values, logsumexp = self._top(logits, max(rule.width for rule in rules))
        tokens: list[int] = ids[:, 0].tolist()
        drawing = [row for row, rule in enumerate(rules) if rule.draws and tokens[row] >= 0]
        if drawing:
            heat = [rules[row].sampling.temperature for row in drawing]
            ours = slice(None) if len(drawing) == len(rules) else drawing
            tops = heads(
                ids[ours, :HEAD], values[ours, :HEAD], logsumexp[ours], heat, logits.shape[1]
            )
            for row, head in zip(drawing, tops, strict=True):
                sampling = rules[row].sampling
                number = uniform(sampling.seed, sequences[row].output_count)
                tokens[row] = draw(logits[row], head, sampling, number)
        return [
            rule.refusal or _result(token, logits[row], ids[row], values[row], logsumexp[row], rule)
            for row, (rule, token) in enumerate(zip(rules, tokens, strict=True))
        ]

    def forget(self, request_id: str) -> None:
        self._rules.pop(request_id, None)

    def _read(self, request: Request, logits: F32) -> Rule:
        rule = self._rules[request.id] = Rule.of(request.sampling, logits.shape[1])
        return rule

    def _top(self, logits: F32, width: int) -> tuple[I32, F32, F32]:
        rows, vocabulary = logits.shape
        width = min(width, vocabulary)
        ids = np.empty((rows, width), np.int32)
        values = np.empty((rows, width), np.float32)
        logsumexp = np.empty(rows, np.float32)
        self._kernels.top(logits, ids, values, logsumexp)
        return ids, values, logsumexp


def _result(
    token: int, logits: F32, ids: I32, values: F32, logsumexp: np.float32, rule: Rule
) -> Sampled | Failed:
    """ids and values [width] are the head of logits [vocabulary], in falling order."""
    if token < 0:
        return NOT_FINITE
    count = rule.sampling.logprobs
    if count is None:
        return Sampled(token)
    total = float(logsumexp)
    logprobs = (values[:count] - np.float64(total)).tolist()
    tops = tuple(zip(ids[:count].tolist(), logprobs, strict=True))
    return Sampled(token, float(logits[token]) - total, tops)
