"""How many tokens a request took, as OpenAI writes it."""

from msgspec import Struct


class PromptDetails(Struct, frozen=True):
    cached_tokens: int


class Usage(Struct, frozen=True):
    prompt_tokens: int
    completion_tokens: int
    total_tokens: int
    prompt_tokens_details: PromptDetails
