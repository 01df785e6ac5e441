"""`POST /v1/completions`"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field

import msgspec
from msgspec import UNSET
from starlette.requests import Request
from starlette.responses import Response

from vilfredo.base.errors import InvalidInput
from vilfredo.server.answer import Job, answer
from vilfredo.server.body import read_object
from vilfredo.server.errors import bad_field
from vilfredo.server.eventstream import event
from vilfredo.server.generate import Piece
from vilfredo.server.logprobs import CompletionLogprobsWriter
from vilfredo.server.metrics import Metrics
from vilfredo.server.models import check_model
from vilfredo.server.orders import Prompt, Wishes, check_count, make_orders
from vilfredo.server.protocol.completions import (
    DEFAULT_MAX_TOKENS,
    NEUTRAL,
    Completion,
    CompletionChoice,
    CompletionRequest,
)
from vilfredo.server.protocol.screen import read_fields
from vilfredo.server.protocol.usage import Usage
from vilfredo.server.sampling import check_token
from vilfredo.server.service import Service
from vilfredo.server.textevent import TextEvent

_encode = msgspec.json.Encoder().encode


async def completions(service: Service, metrics: Metrics, request: Request) -> Response:
    arrival = service.clock.now()
    raw = await read_object(request, service.most_body_bytes)
    asked = read_fields(raw, CompletionRequest, NEUTRAL)
    check_model(service, asked.model)
    if asked.echo and asked.logprobs is not None:
        raise bad_field(
            "logprobs",
            "those of a prompt are not supported, so echo does not go with them",
            "unsupported_parameter",
        )
    wishes = Wishes(service.draw_id("cmpl"), asked.max_tokens or DEFAULT_MAX_TOKENS, asked.logprobs)
    prompts = await asyncio.to_thread(_read_prompts, service, asked)
    orders = make_orders(service, asked, wishes, prompts)
    rendering = CompletionRendering(service, wishes.id, asked)
    return await answer(service, metrics, Job(asked, orders, rendering, arrival), request)


def _read_prompts(service: Service, asked: CompletionRequest) -> list[Prompt]:
    """A text, its tokens, or several of either. Long ones take a while, so it runs beside the
    event loop."""
    prompts = asked.prompt
    if isinstance(prompts, str):
        return [_read_prompt(service, prompts, "prompt", asked.echo)]
    if all(isinstance(each, int) for each in prompts):
        return [_read_prompt(service, prompts, "prompt", asked.echo)]
    check_count(asked, len(prompts))
    return [
        _read_prompt(service, each, f"prompt[{index}]", asked.echo)
        for index, each in enumerate(prompts)
    ]


def _read_prompt(service: Service, prompt: object, field: str, echo: bool) -> Prompt:
    tokenizer = service.tokenizer
    match prompt:
        case str():
            try:
                tokens = tokenizer.encode(prompt)
            except InvalidInput as error:
                raise InvalidInput(field, error.reason) from None
            if tokenizer.bos is not None:
                tokens.insert(0, tokenizer.bos)
            return Prompt(field, tuple(tokens), prompt if echo else "", continues=True)
        case list():
            for token in prompt:
                check_token(token, service.vocabulary, field)
            shown = tokenizer.decode(prompt) if echo else ""
            return Prompt(field, tuple(prompt), shown, continues=True)
        case _:
            raise InvalidInput(field, "tokens of one prompt and other prompts do not mix")


@dataclass(slots=True)
class CompletionRendering:
    service: Service
    id: str
    asked: CompletionRequest
    created: int = field(init=False)
    writers: dict[int, CompletionLogprobsWriter] = field(init=False)  # by choice
    texts: dict[int, TextEvent] = field(init=False)  # by choice

    def __post_init__(self) -> None:
        self.created = int(self.service.wall())
        self.writers = {}
        self.texts = {}

    def events(self, piece: Piece) -> bytes:
        if self.asked.logprobs is not None or piece.finish is not None:
            return event(self._chunk(piece))
        text = self.texts.get(piece.choice)
        if text is None:
            text = TextEvent(lambda text: self._chunk(Piece(piece.choice, text, (), None)))
            self.texts[piece.choice] = text
        return text.of(piece.text)

    def last_event(self, usage: Usage) -> bytes:
        return event(self._completion((), usage))

    def whole(self, choices: Sequence[Piece], usage: Usage) -> bytes:
        return self._completion(tuple(map(self._choice, choices)), usage)

    def _chunk(self, piece: Piece) -> bytes:
        usage = None if self.asked.includes_usage else UNSET
        return self._completion((self._choice(piece),), usage)

    def _choice(self, piece: Piece) -> CompletionChoice:
        logprobs = None
        if self.asked.logprobs is not None:
            writer = self.writers.get(piece.choice)
            if writer is None:
                writer = CompletionLogprobsWriter(self.service.tokenizer)
                self.writers[piece.choice] = writer
            logprobs = writer.write(piece.tokens)
        return CompletionChoice(piece.choice, piece.text, logprobs, piece.finish)

    def _completion(
        self, choices: tuple[CompletionChoice, ...], usage: Usage | msgspec.UnsetType | None
    ) -> bytes:
        return _encode(
            Completion(
                id=self.id,
                created=self.created,
                model=self.asked.model,
                choices=choices,
                usage=usage,
            )
        )
