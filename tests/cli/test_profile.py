"""`vilfredo profile`: a table for each kind of step, and a trace where it is asked for."""

import json


def test_it_prints_both_kinds_of_step_and_writes_a_trace(vilfredo, tiny_gguf, tmp_path):
    path = tmp_path / "trace.json"
    asked = ("--prompt", "20", "--batch", "2", "--tokens", "3", "--trace", str(path))
    ended = vilfredo("profile", tiny_gguf, *asked)
    assert ended.code == 0
    assert "prefill: 1 steps of 40 rows" in ended.out
    assert "decode: 2 steps of 2 rows" in ended.out
    assert "Python: sampling" in ended.out
    assert json.loads(path.read_text())["traceEvents"]


def test_a_trace_that_cannot_be_written_is_refused_before_anything_runs(
    vilfredo, tiny_gguf, tmp_path
):
    missing = tmp_path / "no" / "trace.json"
    ended = vilfredo("profile", tiny_gguf, "--prompt", "9", "--trace", str(missing))
    assert ended.code == 2
    assert "trace" in ended.err


def test_a_prompt_beyond_the_model_s_context_is_refused(vilfredo, tiny_gguf):
    ended = vilfredo("profile", tiny_gguf, "--prompt", "300")
    assert ended.code == 2
    assert "context" in ended.err
