"""What is decided: every number that a run depends on, frozen, printed at start."""

import dataclasses
from dataclasses import dataclass

from vilfredo.base.errors import InvalidInput
from vilfredo.base.settings import AUTO, Settings

OFF = "off"  # in place of a folder
DEFAULT_CONTEXT = 8192  # tokens, where the model's own context is longer and nobody asked


@dataclass(frozen=True, slots=True)
class Facts:
    """What a plan must know of the model and the machine, as plain values."""

    context: int  # the model's own, tokens
    weight_bytes: int
    kv_bytes_per_token: int
    cores: int
    memory_bytes: int  # free for us
    table: str  # the table that the setting means here
    packed_cache: str  # the folder that "auto" means here


@dataclass(frozen=True, slots=True)
class Plan:
    model: str  # the checkpoint's path
    served_name: str
    table: str
    threads: int
    context: int
    block_tokens: int
    blocks: int
    max_sequences: int
    token_budget: int
    max_waiting: int
    max_waiting_tokens: int
    packed_cache: str = OFF  # the folder that keeps packed weights, or off

    def describe(self) -> str:
        """One `name = value` a line, in the order of the fields."""
        return "\n".join(f"{f.name} = {getattr(self, f.name)}" for f in dataclasses.fields(self))


def decide(settings: Settings, path: str, served_name: str, facts: Facts) -> Plan:
    """Resolves every "auto". Raises InvalidInput where what was asked cannot be had.

    KV memory by default: room for as many full contexts as run at once, but at most half of the
    memory that the weights leave free, and at least one context.
    """
    context = min(facts.context, DEFAULT_CONTEXT) if settings.context == AUTO else settings.context
    if context > facts.context:
        raise InvalidInput("context", f"{context} is over the model's own {facts.context}")
    blocks_a_context = -(-context // settings.block_tokens)
    block_bytes = settings.block_tokens * facts.kv_bytes_per_token
    if settings.kv_megabytes == AUTO:
        free = max(0, facts.memory_bytes - facts.weight_bytes) // 2
        blocks = min(settings.max_sequences * blocks_a_context, free // block_bytes)
        blocks = max(blocks, blocks_a_context)
    else:
        if settings.kv_megabytes * 1_000_000 > facts.memory_bytes:
            free = facts.memory_bytes // 1_000_000
            raise InvalidInput("kv_megabytes", f"{settings.kv_megabytes} is over the {free} free")
        blocks = settings.kv_megabytes * 1_000_000 // block_bytes
        if blocks < blocks_a_context:
            need = -(-blocks_a_context * block_bytes // 1_000_000)
            raise InvalidInput(
                "kv_megabytes",
                f"one sequence of {context} tokens needs {need}, not "
                f"{settings.kv_megabytes}; ask for more or for a smaller context",
            )
    return Plan(
        model=path,
        served_name=served_name,
        table=facts.table,
        threads=facts.cores if settings.threads == AUTO else settings.threads,
        context=context,
        block_tokens=settings.block_tokens,
        blocks=blocks,
        max_sequences=settings.max_sequences,
        token_budget=settings.token_budget,
        max_waiting=settings.max_waiting,
        max_waiting_tokens=settings.max_waiting_tokens,
        packed_cache=(
            facts.packed_cache if settings.packed_cache == AUTO else settings.packed_cache
        ),
    )
