"""The runner of this process: a decoder, its KV store and a sampler. Never schedules."""

from typing import Protocol

from vilfredo.core.step import Result, Step
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
    def __init__(self, decoder: Forward, store: KVStore, sampler: Sampler) -> None:
        self._decoder = decoder
        self._store = store
        self._sampler = sampler

    def launch(self, step: Step) -> tuple[Result, ...]:
        if not step.spans:
            return ()
        inputs = decoder_inputs(step, self._store.block_tokens)
        logits = self._decoder.forward(inputs, self._store.layers)
        sequences = [span.sequence for span in step.spans if span.samples]
        if not sequences:
            return (None,) * len(step.spans)
        drawn = iter(self._sampler.sample(logits, sequences))
        return tuple(next(drawn) if span.samples else None for span in step.spans)

    def forget(self, request_id: str) -> None:
        self._sampler.forget(request_id)
