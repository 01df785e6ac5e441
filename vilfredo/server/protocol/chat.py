"""What `/v1/chat/completions` takes and gives."""

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from msgspec import UNSET, Meta, Struct, UnsetType

from vilfredo.server.errors import bad_field
from vilfredo.server.protocol.generation import MOST_LOGPROBS, Count, Generation
from vilfredo.server.protocol.screen import Neutral, read_fields
from vilfredo.server.protocol.usage import Usage

NEUTRAL: Neutral = {
    "audio": (),
    "function_call": ("none", "auto"),
    "functions": ([],),
    "metadata": ({},),  # goes with `store`
    "modalities": (["text"],),
    "moderation": (),
    "parallel_tool_calls": (True,),
    "prediction": (),
    "prompt_cache_options": (),
    "prompt_cache_retention": ("in_memory",),
    "reasoning_effort": (),
    "response_format": ({"type": "text"},),
    "service_tier": ("auto", "default"),
    "store": (False,),
    "tool_choice": ("none", "auto"),
    "tools": ([],),
    "verbosity": ("medium",),
    "web_search_options": (),
}
# The SDK's own answers, sent back as history, carry these.
NEUTRAL_IN_MESSAGE: Neutral = {
    "annotations": ([],),
    "audio": (),
    "function_call": (),
    "refusal": (),
}


class ChatRequest(Generation, frozen=True, kw_only=True, forbid_unknown_fields=True):
    messages: Annotated[list[dict[str, Any]], Meta(min_length=1)]
    max_completion_tokens: Count | None = None
    logprobs: bool = False
    top_logprobs: Annotated[int, Meta(ge=0, le=MOST_LOGPROBS)] | None = None


class Message(Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """`name`, `tool_calls` and `tool_call_id` are for the template."""

    role: Literal["system", "developer", "user", "assistant", "tool"]
    content: str | list[dict[str, Any]] | None = None
    name: str | None = None
    tool_calls: list[dict[str, Any]] | None = None
    tool_call_id: str | None = None


class TextPart(Struct, frozen=True, forbid_unknown_fields=True):
    type: Literal["text"]
    text: str


def read_message(raw: Mapping[str, Any], path: str) -> Message:
    """Raises ApiError by the field's name."""
    message = read_fields(raw, Message, NEUTRAL_IN_MESSAGE, path)
    if message.content is None and message.role != "assistant":
        field = f"{path}.content"
        raise bad_field(field, "is missing", "missing_required_parameter")
    if isinstance(message.content, list):
        for index, part in enumerate(message.content):
            _check_part(part, f"{path}.content[{index}]")
    return message


def _check_part(part: Mapping[str, Any], path: str) -> None:
    kind = part.get("type")
    if isinstance(kind, str) and kind != "text":
        raise bad_field(path, f"parts of type {kind!r} are not supported", "unsupported_parameter")
    read_fields(part, TextPart, {}, path)


class TopLogprob(Struct, frozen=True):
    token: str
    logprob: float
    bytes: list[int]


class TokenLogprob(Struct, frozen=True):
    token: str
    logprob: float
    bytes: list[int]
    top_logprobs: list[TopLogprob]


class ChatLogprobs(Struct, frozen=True):
    content: list[TokenLogprob]
    refusal: None = None


class AnswerMessage(Struct, frozen=True):
    content: str
    role: str = "assistant"
    refusal: None = None


class ChatChoice(Struct, frozen=True):
    index: int
    message: AnswerMessage
    logprobs: ChatLogprobs | None
    finish_reason: str | None


class ChatCompletion(Struct, frozen=True, kw_only=True):
    id: str
    object: str = "chat.completion"
    created: int
    model: str
    choices: list[ChatChoice]
    usage: Usage


class MessageDelta(Struct, frozen=True, omit_defaults=True):
    role: str | UnsetType = UNSET
    content: str | UnsetType = UNSET


class ChunkChoice(Struct, frozen=True):
    index: int
    delta: MessageDelta
    logprobs: ChatLogprobs | None = None
    finish_reason: str | None = None


class ChatChunk(Struct, frozen=True, kw_only=True):
    """`usage` is null in every chunk but the last where the client asked for it, else absent."""

    id: str
    object: str = "chat.completion.chunk"
    created: int
    model: str
    choices: tuple[ChunkChoice, ...]
    usage: Usage | UnsetType | None = UNSET
