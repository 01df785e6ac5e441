"""The openai SDK, unchanged, against `vilfredo serve` with real weights."""

import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import httpx
import openai
import pytest

SMALL, LARGE = "smollm2-135m", "qwen2.5-coder-1.5b"
WAIT = 120.0  # seconds until a test gives up; never a claim of speed


class Served:
    """A server in processes of its own, as a user starts it."""

    def __init__(self, model: str) -> None:
        command = [sys.executable, "-m", "vilfredo", "serve", model, "--port", "0"]
        command += ["--table", "invariant"]  # a test compares requests at once with those alone
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert self.process.stdout is not None
        self.said = ""
        for line in self.process.stdout:
            self.said += line
            if found := re.search(r"on (http://\S+)", line):
                self.url = found[1]
                break
        self.model = model
        self.client = openai.OpenAI(base_url=f"{self.url}/v1", api_key="none", timeout=WAIT)

    def stop(self) -> None:
        self.process.send_signal(signal.SIGINT)
        self.process.communicate(timeout=WAIT)
        assert self.process.returncode == 0

    def stream(self, message: str, **more) -> str:
        chunks = self.client.chat.completions.create(
            model=self.model,
            messages=[{"role": "user", "content": message}],
            stream=True,
            temperature=0,
            **more,
        )
        return "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices)

    def metric(self, name: str) -> float:
        text = httpx.get(f"{self.url}/metrics").text
        found = re.search(rf"^vilfredo:{name}{{[^}}]*}} (\S+)$", text, re.MULTILINE)
        assert found, name
        return float(found[1])


def serve(model: str) -> Iterator[Served]:
    served = Served(model)
    yield served
    served.stop()


@pytest.fixture(scope="module")
def small(model_path) -> Iterator[Served]:
    model_path(SMALL)
    yield from serve(SMALL)


@pytest.fixture(scope="module")
def large(model_path) -> Iterator[Served]:
    model_path(LARGE)
    yield from serve(LARGE)


@pytest.mark.model
def test_a_chat_is_streamed(small):
    assert "Paris" in small.stream("What is the capital of France?", max_tokens=40)


@pytest.mark.large
def test_a_chat_with_the_large_model_is_streamed(large):
    answer = large.stream("Write a Python function that adds two numbers.", max_tokens=120)
    assert "def " in answer
    assert "return" in answer


@pytest.mark.model
def test_whole_and_streamed_answers_are_the_same(small):
    message = "Name three colors."
    whole = small.client.chat.completions.create(
        model=SMALL,
        messages=[{"role": "user", "content": message}],
        temperature=0,
        max_tokens=40,
    )
    assert whole.choices[0].message.content == small.stream(message, max_tokens=40)
    assert whole.usage is not None
    assert whole.usage.total_tokens == whole.usage.prompt_tokens + whole.usage.completion_tokens


@pytest.mark.model
def test_32_requests_at_once_get_what_each_gets_alone(small):
    """The kernels are batch invariant, so not even ties are excepted."""
    messages = [f"Tell me a fact about the number {n}." for n in range(32)]
    with ThreadPoolExecutor(32) as pool:
        together = list(pool.map(lambda text: small.stream(text, max_tokens=24), messages))
    alone = [small.stream(text, max_tokens=24) for text in messages]
    assert together == alone


@pytest.mark.model
def test_the_same_seed_gives_the_same_answer_whatever_runs_beside_it(small):
    def draw(seed: int) -> str:
        answer = small.client.completions.create(
            model=SMALL, prompt="Once upon a time", max_tokens=24, temperature=1.0, seed=seed
        )
        return answer.choices[0].text

    first = draw(7)
    with ThreadPoolExecutor(8) as pool:
        crowd = list(pool.map(draw, [1, 2, 7, 3, 4, 7, 5, 6]))
    assert crowd[2] == crowd[5] == first
    assert len(set(crowd)) == 7


@pytest.mark.model
def test_a_prefix_is_computed_once_and_usage_says_so(small):
    prompt = "The quick brown fox jumps over the lazy dog. " * 20

    def cached() -> int:
        answer = small.client.completions.create(model=SMALL, prompt=prompt, max_tokens=1)
        assert answer.usage is not None
        assert answer.usage.prompt_tokens_details is not None
        return answer.usage.prompt_tokens_details.cached_tokens or 0

    cached()
    assert cached() >= 160


@pytest.mark.model
def test_bad_input_names_its_fault_and_the_server_lives_on(small):
    faults = [
        ({"prompt": "x " * 20_000}, "8192"),
        ({"prompt": "x", "temperature": -1}, "temperature"),
        ({"prompt": "x", "best_of": 3}, "best_of"),
        ({"prompt": ""}, "prompt"),
        ({"prompt": [999_999]}, "prompt"),
    ]
    for fields, named in faults:
        with pytest.raises(openai.BadRequestError, match=named):
            small.client.completions.create(model=SMALL, max_tokens=1, **fields)
    with pytest.raises(openai.NotFoundError, match=SMALL):
        small.client.completions.create(model="nope", prompt="x")
    assert small.client.completions.create(model=SMALL, prompt="x", max_tokens=1).choices


@pytest.mark.model
def test_clients_that_leave_free_everything(small):
    body = {"model": SMALL, "prompt": "Once", "max_tokens": 4000, "ignore_eos": True}
    url = f"{small.url}/v1/completions"
    with httpx.stream("POST", url, json=body | {"stream": True}, timeout=WAIT) as response:
        next(response.iter_lines())
    free(small)
    with pytest.raises(httpx.ReadTimeout):
        httpx.post(url, json=body, timeout=httpx.Timeout(WAIT, read=0.3))
    free(small)
    assert httpx.get(f"{small.url}/health").status_code == 200


def free(served: Served) -> None:
    """Waits until nothing runs and no block is held."""
    deadline = time.monotonic() + WAIT
    while served.metric("num_requests_running") or served.metric("kv_cache_usage_perc"):
        assert time.monotonic() < deadline
        time.sleep(0.02)
