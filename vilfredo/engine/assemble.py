"""From settings to what runs: the checkpoint is read, the plan decided, the runner built.

The two halves are apart, so that one process can decide and another, given the plan, build.
"""

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from vilfredo.base.cache import cache_root
from vilfredo.base.errors import InvalidInput, Unsupported
from vilfredo.base.machine import this_machine
from vilfredo.base.plan import OFF, Facts, Plan, decide
from vilfredo.base.settings import Settings
from vilfredo.core.request import Limits, Request, Sampling
from vilfredo.core.sequence import Sequence
from vilfredo.core.step import Failed, Span, Step
from vilfredo.models.decoder import Decoder, replay
from vilfredo.models.families import read_spec
from vilfredo.models.packed import load_packed
from vilfredo.models.spec import ModelSpec
from vilfredo.ops.choose import choose, known_table
from vilfredo.ops.selftest import require, self_test
from vilfredo.ops.table import Kernels, Program
from vilfredo.runner.kvstore import KVStore
from vilfredo.runner.local import LocalRunner
from vilfredo.runner.protocol import Runner
from vilfredo.runner.sampler import Sampler
from vilfredo.weights.checkpoint import Checkpoint
from vilfredo.weights.open import open_checkpoint
from vilfredo.weights.packedcache import PackedCache
from vilfredo.weights.store import ModelStore


@dataclass(frozen=True, slots=True)
class Assembly:
    checkpoint: Checkpoint
    spec: ModelSpec
    plan: Plan


def assemble(settings: Settings) -> Assembly:
    """Reads what the model says of itself, not its weights.

    Raises InvalidInput for settings that cannot be had, BadFile and Unsupported for the model.
    """
    path, name = _locate(settings.model)
    checkpoint = open_checkpoint(path)
    spec = read_spec(checkpoint)
    machine = this_machine()
    facts = Facts(
        context=spec.context,
        weight_bytes=sum(checkpoint.tensor(each).data.nbytes for each in checkpoint.names()),
        kv_bytes_per_token=spec.kv_bytes_per_token,
        cores=machine.cores,
        memory_bytes=machine.memory_bytes,
        table=known_table(settings.table),
        packed_cache=str(cache_root(os.environ) / "packed"),
    )
    return Assembly(
        checkpoint, spec, decide(settings, str(path), settings.served_name or name, facts)
    )


def build_runner(plan: Plan) -> Runner:
    """For a process that is given nothing but the plan. Raises as `build` does."""
    checkpoint = open_checkpoint(Path(plan.model))
    return build(Assembly(checkpoint, read_spec(checkpoint), plan))


def build(assembly: Assembly) -> Runner:
    """Loads the weights into the chosen table and shows that it computes what it should.

    Raises SelfTestFailed for a table that is wrong and Unsupported for a model that it cannot run.
    """
    spec, plan = assembly.spec, assembly.plan
    kernels = choose(plan.table, plan.threads)
    require(self_test(kernels, short=True))
    decoder = load_decoder(assembly, kernels)
    store = KVStore.allocate(spec, plan.blocks, plan.block_tokens)
    runner = LocalRunner(decoder, store, Sampler(kernels), spec.vocabulary)
    _try(runner, plan)
    return runner


def load_decoder(
    assembly: Assembly, kernels: Kernels, run: Callable[[Program], None] = replay
) -> Decoder:
    """The model's weights in the table's layout, under a decoder; see Decoder for `run`."""
    spec, plan = assembly.spec, assembly.plan
    weights = load_packed(spec, assembly.checkpoint, kernels, _packed_cache(plan))
    most_samples = min(plan.max_sequences, plan.token_budget)
    return Decoder(spec, weights, kernels, plan.token_budget, most_samples, run=run)


def _locate(model: str) -> tuple[Path, str]:
    """Where the model lies, and what to call it if nobody says."""
    store = ModelStore.default()
    found = store.resolve(model)
    if isinstance(found, Path):
        return found, found.stem
    path = store.find(found)
    if path is None:
        raise InvalidInput("model", f"{model} is not here yet: run `vilfredo pull {model}`")
    return path, found.name


def _packed_cache(plan: Plan) -> PackedCache | None:
    if plan.packed_cache == OFF:
        return None
    return PackedCache(Path(plan.packed_cache).expanduser(), plan.threads)


def _try(runner: Runner, plan: Plan) -> None:
    """One token through the whole model: shapes that the table refuses, or weights that give no
    numbers, show now and not in somebody's request. Nobody owns a block yet, so any may be used."""
    sequence = Sequence(Request("", (0,), Limits(1), Sampling(temperature=0.0)), 0.0)
    sequence.blocks.append(0)
    try:
        (result,) = runner.launch(Step(0, (Span(sequence, 0, 1, samples=True),)))
    except ValueError as error:
        raise Unsupported(f"{plan.model}: the table {plan.table} cannot run it: {error}") from error
    if isinstance(result, Failed):
        raise Unsupported(f"{plan.model}: {result.reason}")
