"""From settings to a runner, on a model that is whole but tiny."""

import shutil

import numpy as np
import pytest

from vilfredo.base.errors import InvalidInput, SelfTestFailed, Unsupported
from vilfredo.base.settings import Settings
from vilfredo.core.request import Limits, Request, Sampling
from vilfredo.core.sequence import Sequence
from vilfredo.core.step import Sampled, Span, Step
from vilfredo.engine import assemble as module
from vilfredo.engine.assemble import assemble, build, build_runner
from vilfredo.ops.choose import tables
from vilfredo.ops.reference import ReferenceKernels
from vilfredo.weights.catalog import CATALOG


def settings_for(path, **changes):
    return Settings(model=str(path), **{"table": "reference", "threads": 1, **changes})


def next_token(runner, prompt=(5, 6, 7)):
    sequence = Sequence(Request("r", prompt, Limits(1), Sampling(temperature=0.0)), 0.0)
    sequence.blocks.append(2)
    (result,) = runner.launch(Step(0, (Span(sequence, 0, len(prompt), True),)))
    return result


def test_the_plan_states_the_model_s_and_the_machine_s_facts(tiny_gguf):
    assembly = assemble(Settings(model=str(tiny_gguf)))
    plan = assembly.plan
    assert plan.model == str(tiny_gguf)
    assert plan.served_name == "tiny"
    assert plan.context == assembly.spec.context == 256
    assert plan.table == tables()[0]
    assert plan.threads == module.this_machine().cores
    assert plan.blocks == plan.max_sequences * 16  # 256 tokens each
    assert assemble(settings_for(tiny_gguf, served_name="mine")).plan.served_name == "mine"


def test_a_table_that_is_none_is_refused_before_anything_runs(tiny_gguf):
    with pytest.raises(InvalidInput, match="'mmx' is none of auto"):
        assemble(settings_for(tiny_gguf, table="mmx"))


def test_a_runner_from_the_plan_alone_is_the_same(tiny_gguf):
    assembly = assemble(settings_for(tiny_gguf))
    first, second = build(assembly), build_runner(assembly.plan)
    assert next_token(first) == next_token(second)
    assert isinstance(next_token(first), Sampled)


def test_packed_weights_are_kept_in_the_plan_s_folder_or_nowhere(tiny_gguf, tmp_path, monkeypatch):
    monkeypatch.setenv("VILFREDO_CACHE", str(tmp_path / "cache"))
    native = {"table": tables()[0], "model": str(tiny_gguf), "threads": 1}
    off = build(assemble(Settings(**native, packed_cache="off")))
    assert not (tmp_path / "cache").exists()
    kept = [build(assemble(Settings(**native))) for _ in range(2)]
    assert len(list((tmp_path / "cache" / "packed").glob("tiny-*.packed"))) == 1
    assert next_token(off) == next_token(kept[0]) == next_token(kept[1])


class Store:
    """Knows one model by name, wherever it lies."""

    def __init__(self, path):
        self.path = path

    def resolve(self, name):
        assert name == "known"
        return CATALOG["smollm2-135m"]

    def find(self, model):
        assert model is CATALOG["smollm2-135m"]
        return self.path


def test_a_model_s_name_is_looked_up_among_what_was_pulled(tiny_gguf, monkeypatch):
    monkeypatch.setattr(module.ModelStore, "default", lambda: Store(tiny_gguf))
    plan = assemble(settings_for("known")).plan
    assert (plan.model, plan.served_name) == (str(tiny_gguf), "smollm2-135m")
    monkeypatch.setattr(module.ModelStore, "default", lambda: Store(None))
    with pytest.raises(InvalidInput, match="run `vilfredo pull known`") as raised:
        assemble(settings_for("known"))
    assert raised.value.field == "model"


class Broken(ReferenceKernels):
    def add(self, x, y):
        x -= y


def test_a_table_that_computes_wrongly_is_refused(tiny_gguf, monkeypatch):
    monkeypatch.setattr(module, "choose", lambda name, threads: Broken())
    with pytest.raises(SelfTestFailed, match="add"):
        build(assemble(settings_for(tiny_gguf)))


class Narrow(ReferenceKernels):
    """Stands for a native table, which refuses what its lanes do not divide."""

    def store(self, keys, values, cache, slots):
        if keys.shape[1:] == (2, 16):
            raise ValueError("cache: head_dim")
        super().store(keys, values, cache, slots)


def test_shapes_that_the_table_cannot_run_are_refused_before_any_request(tiny_gguf, monkeypatch):
    monkeypatch.setattr(module, "choose", lambda name, threads: Narrow())
    with pytest.raises(Unsupported, match="table reference cannot run it: cache: head_dim"):
        build(assemble(settings_for(tiny_gguf)))


def test_weights_that_give_no_numbers_are_refused(tiny_gguf, tmp_path):
    path = tmp_path / "nan.gguf"
    shutil.copy(tiny_gguf, path)
    assembly = assemble(settings_for(tiny_gguf))
    norm = assembly.checkpoint.tensor("output_norm.weight").data.tobytes()
    data = path.read_bytes()
    path.write_bytes(data.replace(norm, np.full(64, np.nan, np.float32).tobytes()))
    with pytest.raises(Unsupported, match="logits are not finite"):
        build(assemble(settings_for(path)))
