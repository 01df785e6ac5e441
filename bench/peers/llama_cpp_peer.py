"""llama.cpp's side of a measurement: greedy decode of a batch of sequences through its C API.

Runs in an environment with llama-cpp-python. Each batch has a context of its shape, with a KV
stream for each sequence, which llama.cpp advises where sequences do not share a prefix.
"""

from typing import Any

import llama_cpp
import numpy as np
from serve import serve

ROWS = 512  # tokens that one call computes


class LlamaCpp:
    def __init__(self, settings: dict[str, Any]) -> None:
        self.name = f"llama.cpp (llama-cpp-python {llama_cpp.__version__})"
        self._threads = settings["threads"]
        self._flash = settings.get("flash", True)
        llama_cpp.llama_log_set(_SILENT, None)
        llama_cpp.llama_backend_init()
        parameters = llama_cpp.llama_model_default_params()
        self._model = llama_cpp.llama_model_load_from_file(settings["model"].encode(), parameters)
        vocabulary = llama_cpp.llama_model_get_vocab(self._model)
        self._vocabulary = llama_cpp.llama_vocab_n_tokens(vocabulary)
        self._batch = llama_cpp.llama_batch_init(ROWS, 0, 1)
        self._context: Any = None

    def prepare(self, prompts: list[list[int]], tokens: int, copies: bool) -> None:
        self._prompts = prompts
        self._copies = copies
        self._outputs: list[list[int]] = [[] for _ in prompts]
        parameters = llama_cpp.llama_context_default_params()
        length = -(-(max(map(len, prompts)) + tokens) // 256) * 256
        parameters.n_ctx = length * len(prompts)
        parameters.n_seq_max = len(prompts)
        parameters.n_batch = parameters.n_ubatch = ROWS
        parameters.n_threads = parameters.n_threads_batch = self._threads
        parameters.flash_attn_type = int(self._flash)
        parameters.kv_unified = False
        parameters.swa_full = True  # its header: False "can cause bad performance" in batches
        self._context = llama_cpp.llama_init_from_model(self._model, parameters)

    def prefill(self) -> None:
        distinct = self._prompts[:1] if self._copies else self._prompts
        rows = [
            (token, position, sequence, position == len(prompt) - 1)
            for sequence, prompt in enumerate(distinct)
            for position, token in enumerate(prompt)
        ]
        for first in range(0, len(rows), ROWS):
            self._decode(rows[first : first + ROWS])
        if self._copies:
            memory = llama_cpp.llama_get_memory(self._context)
            for sequence in range(1, len(self._prompts)):
                llama_cpp.llama_memory_seq_cp(memory, 0, sequence, -1, -1)
                self._outputs[sequence] = list(self._outputs[0])

    def step(self) -> None:
        self._decode(
            [
                (output[-1], len(prompt) + len(output) - 1, sequence, True)
                for sequence, (prompt, output) in enumerate(
                    zip(self._prompts, self._outputs, strict=True)
                )
            ]
        )

    def end(self) -> list[list[int]]:
        llama_cpp.llama_free(self._context)
        self._context = None
        return self._outputs

    def _decode(self, rows: list[tuple[int, int, int, bool]]) -> None:
        """Computes rows of (token, position, sequence, samples) and draws where they sample."""
        batch = self._batch
        batch.n_tokens = len(rows)
        for row, (token, position, sequence, samples) in enumerate(rows):
            batch.token[row] = token
            batch.pos[row] = position
            batch.n_seq_id[row] = 1
            batch.seq_id[row][0] = sequence
            batch.logits[row] = samples
        if llama_cpp.llama_decode(self._context, batch) != 0:
            raise RuntimeError("llama_decode failed")
        for row, (_, _, sequence, samples) in enumerate(rows):
            if samples:
                logits = llama_cpp.llama_get_logits_ith(self._context, row)
                best = np.argmax(np.ctypeslib.as_array(logits, (self._vocabulary,)))
                self._outputs[sequence].append(int(best))


@llama_cpp.llama_log_callback
def _SILENT(level: int, text: bytes, data: object) -> None:
    pass


if __name__ == "__main__":
    serve(LlamaCpp)
