"""What `/v1/completions` takes and gives."""

from typing import Annotated

from msgspec import UNSET, Meta, Struct, UnsetType

from vilfredo.server.protocol.generation import MOST_LOGPROBS, Generation, Token
from vilfredo.server.protocol.screen import Neutral
from vilfredo.server.protocol.usage import Usage

DEFAULT_MAX_TOKENS = 16  # OpenAI's

NEUTRAL: Neutral = {"best_of": (1,), "suffix": ()}


class CompletionRequest(Generation, frozen=True, kw_only=True, forbid_unknown_fields=True):
    # A text, several, the tokens of one, or of several: `read_prompts` tells them apart.
    prompt: str | Annotated[list[str | Token | list[Token]], Meta(min_length=1)]
    logprobs: Annotated[int, Meta(ge=0, le=MOST_LOGPROBS)] | None = None
    echo: bool = False


class CompletionLogprobs(Struct, frozen=True):
    """One entry a token. `top_logprobs` always hold the token itself; `text_offset` is where in
    the text the token's first character is, or would be if a stop string had not cut it off."""

    tokens: list[str]
    token_logprobs: list[float]
    top_logprobs: list[dict[str, float]]
    text_offset: list[int]


class CompletionChoice(Struct, frozen=True):
    index: int
    text: str
    logprobs: CompletionLogprobs | None
    finish_reason: str | None


class Completion(Struct, frozen=True, kw_only=True):
    """Also a chunk of a streamed one, where `usage` may be null or absent."""

    id: str
    object: str = "text_completion"
    created: int
    model: str
    choices: tuple[CompletionChoice, ...]
    usage: Usage | UnsetType | None = UNSET
