"""OpenVINO GenAI's side of a measurement: its continuous batching, reading the GGUF itself.

Runs in an environment with openvino-genai. Its prefix cache is on, for contexts that are copies;
nothing else repeats. A step gives each running sequence one token, as elsewhere.
"""

import importlib.metadata
from typing import Any

import numpy as np
import openvino
import openvino_genai
from serve import serve

ROWS = 512  # tokens that one step computes


class OpenVino:
    def __init__(self, settings: dict[str, Any]) -> None:
        version = importlib.metadata.version("openvino-genai")
        self.name = f"OpenVINO GenAI {version}"
        scheduler = openvino_genai.SchedulerConfig()
        scheduler.enable_prefix_caching = True
        scheduler.max_num_batched_tokens = ROWS
        scheduler.max_num_seqs = 64
        scheduler.cache_size = settings.get("cache_gigabytes", 1)
        properties = {"INFERENCE_NUM_THREADS": settings["threads"]}
        self._pipeline = openvino_genai.ContinuousBatchingPipeline(
            settings["model"], scheduler, "CPU", properties
        )
        self._requests = 0

    def prepare(self, prompts: list[list[int]], tokens: int, copies: bool) -> None:
        self._prompts, self._tokens = prompts, tokens
        if copies and len(prompts) > 1:
            self._add(prompts[:1], 1)
            self._finish()

    def prefill(self) -> None:
        self._handles = self._add(self._prompts, self._tokens)
        while not all(handle.can_read() for handle in self._handles):
            self._pipeline.step()

    def step(self) -> None:
        self._pipeline.step()

    def end(self) -> list[list[int]]:
        self._finish()
        return [handle.read_all()[0].generated_ids for handle in self._handles]

    def _finish(self) -> None:
        while self._pipeline.has_non_finished_requests():
            self._pipeline.step()

    def _add(self, prompts: list[list[int]], tokens: int) -> list[Any]:
        """Asks for `tokens` tokens after each prompt, greedily and whatever they are."""
        asked = openvino_genai.GenerationConfig()
        asked.max_new_tokens = tokens
        asked.ignore_eos = True
        asked.do_sample = False
        handles = []
        for prompt in prompts:
            ids = openvino.Tensor(np.array([prompt], np.int64))
            handles.append(self._pipeline.add_request(self._requests, ids, asked))
            self._requests += 1
        return handles


if __name__ == "__main__":
    serve(OpenVino)
