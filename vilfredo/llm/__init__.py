"""A model in this process: prompts in, text out. It starts no server and no other process."""

import os
from collections.abc import Generator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, fields, replace
from typing import Any, TypeGuard, Unpack, cast

from vilfredo.base.clock import SystemClock
from vilfredo.base.errors import InvalidInput
from vilfredo.base.settings import Settings, load_settings
from vilfredo.core.request import Request
from vilfredo.core.step import Sampled
from vilfredo.engine.assemble import assemble, build
from vilfredo.engine.engine import Engine
from vilfredo.llm.drive import Generation, GenerationFailed, drive
from vilfredo.llm.options import Asked, Options, check_token, read_options
from vilfredo.sched.admission import check_request
from vilfredo.text.load import load_template, load_tokenizer
from vilfredo.text.stream import TextStream

__all__ = ["LLM", "Completion", "GenerationFailed", "Message", "Options", "Prompt"]

Message = Mapping[str, Any]
Prompt = str | Sequence[int] | Sequence[Message]  # a text, its tokens, or a conversation


@dataclass(frozen=True, slots=True)
class Completion:
    text: str
    tokens: tuple[Sampled, ...]  # with log-probabilities where they were asked for
    finish: str  # stop or length
    prompt_tokens: int
    cached_tokens: int  # of the prompt, those that the prefix cache had


class LLM:
    """For one caller at a time. Prompts of one call run as one batch.

    Tokens are greedy unless a temperature is given; what is drawn is random unless a seed is
    given, and then the same for the same prompt, whatever else is in the batch.
    """

    def __init__(self, model: str = Settings.model, **settings: Any) -> None:
        """`settings` are fields of Settings. Raises InvalidInput by name, BadFile, Unsupported."""
        for name in settings.keys() - {field.name for field in fields(Settings)}:
            raise InvalidInput(name, "is not a setting")
        assembly = assemble(load_settings({"model": model, **settings}, os.environ))
        self.plan = assembly.plan
        self.tokenizer = load_tokenizer(assembly.checkpoint)
        self.template = load_template(assembly.checkpoint, self.tokenizer)
        self._vocabulary = assembly.spec.vocabulary
        self._engine = Engine(self.plan, build(assembly), SystemClock())
        self._count = 0

    def generate(
        self, prompts: str | Sequence[str] | Sequence[Sequence[int]], **options: Unpack[Options]
    ) -> list[Completion]:
        """One completion a prompt, in their order. Raises InvalidInput and GenerationFailed."""
        several = [prompts] if isinstance(prompts, str) else list(prompts)
        return self._complete(several, options)

    def chat(self, messages: Sequence[Message], **options: Unpack[Options]) -> Completion:
        """The assistant's answer to a conversation in OpenAI's form."""
        return self._complete([messages], options)[0]

    def stream(self, prompt: Prompt, **options: Unpack[Options]) -> Generator[str, None, None]:
        """The text of one completion as it comes. Closing it early cancels the rest."""
        return self._pieces(self._prepare([prompt], options))

    def _pieces(self, generations: Sequence[Generation]) -> Generator[str, None, None]:
        with closing(drive(self._engine, generations)) as pieces:
            for _, piece in pieces:
                yield piece

    def _complete(self, prompts: Sequence[Prompt], options: Options) -> list[Completion]:
        generations = self._prepare(prompts, options)
        for _ in drive(self._engine, generations):
            pass
        return [
            Completion(
                text=each.text,
                tokens=tuple(each.tokens),
                finish=str(each.finish),
                prompt_tokens=len(each.request.prompt),
                cached_tokens=each.cached,
            )
            for each in generations
        ]

    def _prepare(self, prompts: Sequence[Prompt], options: Options) -> list[Generation]:
        """Everything is checked before anything is computed."""
        asked = read_options(options, self.tokenizer.ends, self._vocabulary)
        if len(prompts) == 1:
            return [self._start("prompt", prompts[0], asked)]
        return [
            self._start(f"prompts[{index}]", prompt, asked) for index, prompt in enumerate(prompts)
        ]

    def _start(self, field: str, prompt: Prompt, asked: Asked) -> Generation:
        tokens = self._encode(field, prompt)
        self._count += 1
        seed = asked.sampling.seed if asked.seeded else int.from_bytes(os.urandom(8))
        request = Request(
            id=str(self._count),
            prompt=tokens,
            limits=asked.limits,
            sampling=replace(asked.sampling, seed=seed),
        )
        try:
            check_request(request, self.plan.context)
        except InvalidInput as error:
            raise InvalidInput(field, error.reason) from None
        stream = TextStream(self.tokenizer, asked.stops, continues=not _is_chat(prompt))
        return Generation(request, stream)

    def _encode(self, field: str, prompt: Prompt) -> tuple[int, ...]:
        if isinstance(prompt, str):
            bos = [] if self.tokenizer.bos is None else [self.tokenizer.bos]
            return (*bos, *self.tokenizer.encode(prompt))
        if _is_chat(prompt):
            if self.template is None:
                raise InvalidInput(field, "this model has no chat template")
            return tuple(self.template.encode(prompt))
        tokens = tuple(cast(Sequence[int], prompt))
        for token in tokens:
            check_token(field, token, self._vocabulary)
        return tokens


def _is_chat(prompt: Prompt) -> TypeGuard[Sequence[Message]]:
    return not isinstance(prompt, str) and len(prompt) > 0 and isinstance(prompt[0], Mapping)
