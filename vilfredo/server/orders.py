"""From a request's fields and its prompts' tokens to the sequences to generate, a choice each."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from vilfredo.core.request import Request
from vilfredo.server.errors import bad_field
from vilfredo.server.protocol.generation import MOST_CHOICES, Generation
from vilfredo.server.sampling import read_limits, read_sampling, read_stops
from vilfredo.server.service import Service


@dataclass(frozen=True, slots=True)
class Prompt:
    field: str  # of the request: where it came from
    tokens: tuple[int, ...]
    echo: str = ""  # put before the generated text
    continues: bool = False  # the generated text carries on the prompt's


@dataclass(frozen=True, slots=True)
class Order:
    request: Request
    prompt: Prompt
    stops: tuple[str, ...]
    counts_prompt: bool  # of several choices for one prompt, the first stands for its tokens


@dataclass(frozen=True, slots=True)
class Wishes:
    """What the two endpoints ask for in fields of their own."""

    id: str
    max_tokens: int | None
    logprobs: int | None


def make_orders(
    service: Service, asked: Generation, wishes: Wishes, prompts: Sequence[Prompt]
) -> tuple[Order, ...]:
    """Every prompt has `n` choices, one after the other. Raises ApiError.

    With a seed, a prompt's choices draw from it and its successors, whatever other prompts there
    are; without one, each prompt has a seed of its own.
    """
    _check_stream_options(asked)
    stops = read_stops(asked)
    orders: list[Order] = []
    for prompt in prompts:
        room = _room(service, prompt, wishes.max_tokens)
        limits = read_limits(asked, room, service.tokenizer.ends, service.vocabulary)
        seed = service.draw_seed() if asked.seed is None else asked.seed
        sampling = read_sampling(asked, wishes.logprobs, seed, service.vocabulary)
        for choice in range(asked.n):
            request = Request(
                id=f"{wishes.id}-{len(orders)}",
                prompt=prompt.tokens,
                limits=limits,
                sampling=replace(sampling, seed=_successor(seed, choice)),
            )
            orders.append(Order(request, prompt, stops, counts_prompt=choice == 0))
    return tuple(orders)


def check_count(asked: Generation, prompts: int) -> None:
    """To be called before the prompts are read, which costs work."""
    if prompts * asked.n > MOST_CHOICES:
        raise bad_field("n", f"{asked.n} for each of {prompts} prompts is over {MOST_CHOICES}")


def _check_stream_options(asked: Generation) -> None:
    options = asked.stream_options
    if options is None:
        return
    if not asked.stream:
        raise bad_field("stream_options", "only goes with stream")
    if options.include_obfuscation:
        field = "stream_options.include_obfuscation"
        raise bad_field(field, "is not supported by this server", "unsupported_parameter")


def _room(service: Service, prompt: Prompt, max_tokens: int | None) -> int:
    """How many tokens may follow a prompt: max_tokens is an upper bound, and so is the context."""
    length = len(prompt.tokens)
    if length == 0:
        raise bad_field(prompt.field, "must hold at least one token")
    room = service.context - length
    if room < 1:
        reason = (
            f"its {length} tokens leave no room for an answer in a context of {service.context}"
        )
        raise bad_field(prompt.field, reason, "context_length_exceeded")
    return room if max_tokens is None else min(room, max_tokens)


def _successor(seed: int, distance: int) -> int:
    """Within 64 bits, signed, as the engine's messages carry it."""
    return (seed + distance + (1 << 63)) % (1 << 64) - (1 << 63)
