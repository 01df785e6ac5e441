"""The one place where fields of a request become what the engine is asked for."""

from vilfredo.core.request import Limits, Sampling
from vilfredo.server.errors import bad_field
from vilfredo.server.protocol.generation import Generation


def read_sampling(asked: Generation, logprobs: int | None, seed: int, vocabulary: int) -> Sampling:
    """Raises ApiError for a token that the model does not have."""
    return Sampling(
        temperature=asked.temperature,
        top_k=min(max(asked.top_k, 0), vocabulary),  # -1 is vLLM's word for all
        top_p=asked.top_p,
        min_p=asked.min_p,
        repetition_penalty=asked.repetition_penalty,
        presence_penalty=asked.presence_penalty,
        frequency_penalty=asked.frequency_penalty,
        logit_bias=tuple(
            (_bias_token(key, vocabulary), bias) for key, bias in asked.logit_bias.items()
        ),
        seed=seed,
        logprobs=None if logprobs is None else min(logprobs, vocabulary),
    )


def read_limits(asked: Generation, room: int, ends: frozenset[int], vocabulary: int) -> Limits:
    """`room` is how many tokens may follow the prompt at most."""
    stops = frozenset(asked.stop_token_ids)
    for token in stops:
        check_token(token, vocabulary, "stop_token_ids")
    return Limits(max_tokens=room, stop_tokens=stops if asked.ignore_eos else stops | ends)


def read_stops(asked: Generation) -> tuple[str, ...]:
    return (asked.stop,) if isinstance(asked.stop, str) else tuple(asked.stop)


def check_token(token: int, vocabulary: int, field: str) -> None:
    if token >= vocabulary:
        raise bad_field(field, f"{token} is no token of a vocabulary of {vocabulary}")


def _bias_token(key: str, vocabulary: int) -> int:
    # Fewer digits than the interpreter refuses to read as a number, and one spelling a token.
    if not (key.isascii() and key.isdigit() and len(key) < 20 and key == str(int(key))):
        raise bad_field("logit_bias", "its keys must be token ids")
    token = int(key)
    check_token(token, vocabulary, "logit_bias")
    return token
