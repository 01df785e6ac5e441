"""The fields that chat and text completions share, with their ranges.

Beyond OpenAI's, those that the field knows from vLLM: top_k (0 and -1 mean the whole vocabulary),
min_p, repetition_penalty, stop_token_ids and ignore_eos. `user`, `safety_identifier` and
`prompt_cache_key` are labels: they promise nothing about the answer, so any string is taken. A
top_p of 0 leaves the likeliest token. Ranges are OpenAI's; that of repetition_penalty keeps logits
finite.
"""

from typing import Annotated

from msgspec import Meta, Struct

MOST_CHOICES = 128  # sequences of one request
MOST_LOGPROBS = 20

Text = Annotated[str, Meta(min_length=1)]
Count = Annotated[int, Meta(ge=1)]
Fraction = Annotated[float, Meta(ge=0, le=1)]
Penalty = Annotated[float, Meta(ge=-2, le=2)]
Token = Annotated[int, Meta(ge=0)]


class StreamOptions(Struct, frozen=True, forbid_unknown_fields=True):
    include_usage: bool | None = None
    include_obfuscation: bool | None = None  # refused by `make_orders` where it is true


class Generation(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    model: str
    max_tokens: Count | None = None
    temperature: Annotated[float, Meta(ge=0, le=2)] = 1.0
    top_p: Fraction = 1.0
    top_k: Annotated[int, Meta(ge=-1)] = 0
    min_p: Fraction = 0.0
    repetition_penalty: Annotated[float, Meta(ge=0.01, le=100)] = 1.0
    presence_penalty: Penalty = 0.0
    frequency_penalty: Penalty = 0.0
    logit_bias: dict[str, Annotated[float, Meta(ge=-100, le=100)]] = {}
    seed: Annotated[int, Meta(ge=-(1 << 63), le=(1 << 63) - 1)] | None = None
    stop: Text | Annotated[list[Text], Meta(max_length=16)] = []
    stop_token_ids: list[Token] = []
    ignore_eos: bool = False
    n: Annotated[int, Meta(ge=1, le=MOST_CHOICES)] = 1
    stream: bool = False
    stream_options: StreamOptions | None = None
    user: str = ""
    safety_identifier: str = ""
    prompt_cache_key: str = ""

    @property
    def includes_usage(self) -> bool:
        return self.stream_options is not None and bool(self.stream_options.include_usage)
