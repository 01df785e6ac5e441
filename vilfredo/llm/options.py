"""What a caller may say of a generation, checked and turned into what the engine takes."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypedDict

from vilfredo.base.errors import InvalidInput
from vilfredo.core.request import Limits, Sampling


class Options(TypedDict, total=False):
    """Everything has a default; sampling is greedy unless a temperature says otherwise."""

    max_tokens: int
    stop: str | Sequence[str]
    stop_tokens: Sequence[int]
    ignore_eos: bool
    temperature: float
    top_k: int
    top_p: float
    min_p: float
    repetition_penalty: float
    presence_penalty: float
    frequency_penalty: float
    logit_bias: Mapping[int, float]
    seed: int
    logprobs: int


@dataclass(frozen=True, slots=True)
class Asked:
    limits: Limits
    sampling: Sampling
    stops: tuple[str, ...]
    seeded: bool  # the caller chose the seed


# The least and the largest value of each number, and whether the least itself is allowed.
_RANGES: dict[str, tuple[float, float, bool]] = {
    "max_tokens": (1, math.inf, True),
    "temperature": (0, math.inf, True),
    "top_k": (0, math.inf, True),
    "top_p": (0, 1, False),
    "min_p": (0, 1, True),
    "repetition_penalty": (0, math.inf, False),
    "presence_penalty": (-math.inf, math.inf, False),
    "frequency_penalty": (-math.inf, math.inf, False),
    "seed": (-math.inf, math.inf, False),
    "logprobs": (0, math.inf, True),
}
_WHOLE = frozenset({"max_tokens", "top_k", "seed", "logprobs"})
_SAMPLING = frozenset(_RANGES) - {"max_tokens"}
MAX_TOKENS = 256


def read_options(options: Mapping[str, Any], ends: frozenset[int], vocabulary: int) -> Asked:
    """Raises InvalidInput for an option that does not exist or cannot be, by its name."""
    for name in options:
        if name not in Options.__annotations__:
            raise InvalidInput(
                name, f"is no option; known are {', '.join(Options.__annotations__)}"
            )
    for name in options.keys() & _RANGES.keys():
        _check_number(name, options[name])
    bias = tuple(dict(options.get("logit_bias", {})).items())
    for token, value in bias:
        check_token("logit_bias", token, vocabulary)
        if not isinstance(value, int | float) or not math.isfinite(value):
            raise InvalidInput("logit_bias", f"must be finite numbers, not {value!r}")
    stop_tokens = frozenset(options.get("stop_tokens", ()))
    for token in stop_tokens:
        check_token("stop_tokens", token, vocabulary)
    stops = options.get("stop", ())
    stops = (stops,) if isinstance(stops, str) else tuple(stops)
    numbers = {name: options[name] for name in options.keys() & _SAMPLING}
    return Asked(
        limits=Limits(
            max_tokens=options.get("max_tokens", MAX_TOKENS),
            stop_tokens=stop_tokens if options.get("ignore_eos") else stop_tokens | ends,
        ),
        sampling=Sampling(**{"temperature": 0.0, **numbers}, logit_bias=bias),
        stops=stops,
        seeded="seed" in options,
    )


def _check_number(name: str, value: Any) -> None:
    kinds = int if name in _WHOLE else int | float
    if not isinstance(value, kinds) or isinstance(value, bool) or not math.isfinite(value):
        kind = "whole number" if name in _WHOLE else "finite number"
        raise InvalidInput(name, f"must be a {kind}, not {value!r}")
    least, largest, included = _RANGES[name]
    if value < least or value > largest or (value == least and not included):
        relation = "at least" if included else "over"
        limit = f" and at most {largest:g}" if largest < math.inf else ""
        raise InvalidInput(name, f"must be {relation} {least:g}{limit}, not {value}")


def check_token(name: str, token: Any, vocabulary: int) -> None:
    if not isinstance(token, int) or not 0 <= token < vocabulary:
        raise InvalidInput(name, f"{token!r} is no token of {vocabulary}")
