"""The runner of this process: a decoder, its KV store and a sampler. Never schedules."""

from typing import Protocol

from vilfredo.core.step import Failed, Result, Span, Step
from vilfredo.models.inputs import DecoderInputs
from vilfredo.ops.table import F32, LayerCache
from vilfredo.runner.inputs import decoder_inputs
from vilfredo.runner.kvstore import KVStore
from vilfredo.runner.sampler import Sampler


class Forward(Protocol):
    """What the runner needs of a decoder."""

    def forward(self, inputs: DecoderInputs, caches: tuple[LayerCache, ...]) -> F32:
        """Logits [sampling rows, vocabulary], which the caller may change."""
        ...


class LocalRunner:
    def __init__(self, decoder: Forward, store: KVStore, sampler: Sampler, vocabulary: int) -> None:
        self._decoder = decoder
        self._store = store
        self._sampler = sampler
        self._vocabulary = vocabulary  # rows of the embedding, whatever a tokenizer believes

    def launch(self, step: Step) -> tuple[Result, ...]:
        """A span with a token that does not exist fails alone, before it is computed."""
        if not step.spans:
            return ()
        try:
            inputs = decoder_inputs(step, self._store.block_tokens, self._vocabulary)
        except ValueError:
            return self._without_failures(step)
        return self._compute(step, inputs)

    def forget(self, request_id: str) -> None:
        self._sampler.forget(request_id)

    def _without_failures(self, step: Step) -> tuple[Result, ...]:
        failures = [self._failure(span) for span in step.spans]
        sound = [span for span, failed in zip(step.spans, failures, strict=True) if not failed]
        results = iter(self.launch(Step(step.number, tuple(sound))))
        return tuple(failed or next(results) for failed in failures)

    def _failure(self, span: Span) -> Failed | None:
        tokens = span.sequence.tokens[span.start : span.start + span.count]
        if min(tokens) < 0 or max(tokens) >= self._vocabulary:
            return Failed(f"the prompt has a token outside the vocabulary of {self._vocabulary}")
        return None

    def _compute(self, step: Step, inputs: DecoderInputs) -> tuple[Result, ...]:
        logits = self._decoder.forward(inputs, self._store.layers)
        sequences = [span.sequence for span in step.spans if span.samples]
        if not sequences:
            return (None,) * len(step.spans)
        drawn = self._sampler.sample(logits, sequences)
        if len(drawn) == len(step.spans):
            return tuple(drawn)
        results = iter(drawn)
        return tuple(next(results) if span.samples else None for span in step.spans)
