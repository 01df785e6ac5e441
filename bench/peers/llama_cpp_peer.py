"""llama.cpp's side of a measurement: greedy decode of one sequence through its C API.

Reads one JSON line of settings, then measures once for each further line of its input and answers
with one line of JSON. Run in an environment with llama-cpp-python.
"""

import json
import sys
import time

import llama_cpp
import numpy as np


def main() -> None:
    settings = json.loads(sys.stdin.readline())
    prompt, count = settings["prompt"], settings["tokens"]
    llama = llama_cpp.Llama(
        settings["model"],
        n_ctx=len(prompt) + count + 8,
        n_threads=settings["threads"],
        n_threads_batch=settings["threads"],
        verbose=False,
    )
    vocabulary = llama.n_vocab()
    print(json.dumps({"ready": f"llama-cpp-python {llama_cpp.__version__}"}), flush=True)
    for _ in sys.stdin:
        llama.reset()
        begin = time.perf_counter()
        llama.eval(prompt)
        tokens = [best(llama, vocabulary)]
        first = time.perf_counter()
        while len(tokens) < count:
            llama.eval([tokens[-1]])
            tokens.append(best(llama, vocabulary))
        end = time.perf_counter()
        answer = {
            "prefill": len(prompt) / (first - begin),
            "decode": (count - 1) / (end - first),
            "output": tokens,
        }
        print(json.dumps(answer), flush=True)


def best(llama: llama_cpp.Llama, vocabulary: int) -> int:
    logits = llama_cpp.llama_get_logits_ith(llama.ctx, -1)
    return int(np.argmax(np.ctypeslib.as_array(logits, (vocabulary,))))


if __name__ == "__main__":
    main()
