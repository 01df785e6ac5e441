"""`POST /v1/chat/completions`"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field

import msgspec
from msgspec import UNSET
from starlette.requests import Request
from starlette.responses import Response

from vilfredo.server.answer import Job, answer
from vilfredo.server.body import read_object
from vilfredo.server.errors import bad_field
from vilfredo.server.eventstream import event
from vilfredo.server.generate import Piece
from vilfredo.server.logprobs import chat_logprobs
from vilfredo.server.metrics import Metrics
from vilfredo.server.models import check_model
from vilfredo.server.orders import Prompt, Wishes, make_orders
from vilfredo.server.protocol.chat import (
    NEUTRAL,
    AnswerMessage,
    ChatChoice,
    ChatChunk,
    ChatCompletion,
    ChatLogprobs,
    ChatRequest,
    ChunkChoice,
    MessageDelta,
    read_message,
)
from vilfredo.server.protocol.screen import read_fields
from vilfredo.server.protocol.usage import Usage
from vilfredo.server.service import Service
from vilfredo.server.textevent import TextEvent

_encode = msgspec.json.Encoder().encode


async def chat_completions(service: Service, metrics: Metrics, request: Request) -> Response:
    arrival = service.clock.now()
    raw = await read_object(request, service.most_body_bytes)
    asked = read_fields(raw, ChatRequest, NEUTRAL)
    check_model(service, asked.model)
    wishes = Wishes(service.draw_id("chatcmpl"), _max_tokens(asked), _logprobs(asked))
    prompt = await asyncio.to_thread(_read_prompt, service, asked)
    orders = make_orders(service, asked, wishes, [prompt])
    rendering = ChatRendering(service, wishes.id, asked)
    return await answer(service, metrics, Job(asked, orders, rendering, arrival), request)


def _max_tokens(asked: ChatRequest) -> int | None:
    """`max_tokens` is the older name."""
    names = {asked.max_tokens, asked.max_completion_tokens} - {None}
    if len(names) > 1:
        raise bad_field("max_tokens", "contradicts max_completion_tokens")
    return names.pop() if names else None


def _logprobs(asked: ChatRequest) -> int | None:
    if asked.logprobs:
        return asked.top_logprobs or 0
    if asked.top_logprobs is not None:
        raise bad_field("top_logprobs", "only goes with logprobs")
    return None


def _read_prompt(service: Service, asked: ChatRequest) -> Prompt:
    """Takes a while for a long conversation, so it runs beside the event loop."""
    if service.template is None:
        raise bad_field(
            "messages",
            f"{service.served_name} has no chat template; use /v1/completions",
            "no_chat_template",
        )
    messages = [
        msgspec.to_builtins(read_message(message, f"messages[{index}]"))
        for index, message in enumerate(asked.messages)
    ]
    return Prompt("messages", tuple(service.template.encode(messages)))


@dataclass(slots=True)
class ChatRendering:
    service: Service
    id: str
    asked: ChatRequest
    created: int = field(init=False)
    texts: dict[int, TextEvent] = field(init=False)  # by choice: of those that have their role

    def __post_init__(self) -> None:
        self.created = int(self.service.wall())
        self.texts = {}

    def events(self, piece: Piece) -> bytes:
        events: list[bytes] = []
        index = piece.choice
        text = self.texts.get(index)
        if text is None:
            role = MessageDelta(role="assistant", content="")
            events.append(event(self._chunk((ChunkChoice(index, role),))))
            text = self.texts[index] = TextEvent(
                lambda text: self._chunk((ChunkChoice(index, MessageDelta(content=text)),))
            )
        if self.asked.logprobs and piece.tokens:
            delta = MessageDelta(content=piece.text)
            choice = ChunkChoice(index, delta, self._logprobs(piece))
            events.append(event(self._chunk((choice,))))
        elif piece.text:
            events.append(text.of(piece.text))
        if piece.finish is not None:
            choice = ChunkChoice(index, MessageDelta(), finish_reason=piece.finish)
            events.append(event(self._chunk((choice,))))
        return b"".join(events)

    def last_event(self, usage: Usage) -> bytes:
        return event(self._chunk((), usage))

    def whole(self, choices: Sequence[Piece], usage: Usage) -> bytes:
        return _encode(
            ChatCompletion(
                id=self.id,
                created=self.created,
                model=self.asked.model,
                choices=[
                    ChatChoice(
                        each.choice, AnswerMessage(each.text), self._logprobs(each), each.finish
                    )
                    for each in choices
                ],
                usage=usage,
            )
        )

    def _logprobs(self, piece: Piece) -> ChatLogprobs | None:
        if not self.asked.logprobs:
            return None
        return chat_logprobs(self.service.tokenizer, piece.tokens)

    def _chunk(self, choices: tuple[ChunkChoice, ...], usage: Usage | None = None) -> bytes:
        return _encode(
            ChatChunk(
                id=self.id,
                created=self.created,
                model=self.asked.model,
                choices=choices,
                usage=usage if self.asked.includes_usage else UNSET,
            )
        )
