"""A model's chat template: from messages to tokens. What users write is never a special token."""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any

import jinja2
from jinja2 import meta

from vilfredo.base.errors import BadFile, InvalidInput
from vilfredo.text.budget import Budget
from vilfredo.text.messages import choose_mark, escaped, map_strings, normalize
from vilfredo.text.sandbox import TemplateEnvironment
from vilfredo.text.tokenizer import ModelTokenizer

LARGEST_SOURCE = 1_000_000  # characters


class ChatTemplate:
    """`special_names` are the variables by which templates write special tokens ("bos_token").

    Special tokens that content spells are broken by a mark before the template is rendered; the
    rendered text is cut at the special tokens that it still holds, which are thus the template's
    own, and the mark goes before the rest is encoded. So content with special spellings becomes
    ordinary tokens, and any other is encoded as if the whole text were encoded at once.
    """

    def __init__(
        self,
        source: str,
        tokenizer: ModelTokenizer,
        special_names: Mapping[str, str],
        path: object,
        now: Callable[[], datetime] = datetime.now,
        budget: Callable[[], Budget] = Budget,
    ) -> None:
        if len(source) > LARGEST_SOURCE:
            raise BadFile(path, f"the chat template is over {LARGEST_SOURCE} characters")
        environment = TemplateEnvironment(now)
        try:
            self._template = environment.from_string(source)
            names = meta.find_undeclared_variables(environment.parse(source))
        except Exception as error:  # Jinja's own, or Python's for what it generates
            raise BadFile(path, f"the chat template does not compile: {error}") from error
        self.takes_tools = "tools" in names
        self._takes_calls = "tool_calls" in source
        self._source = source
        self._budget = budget
        self._tokenizer = tokenizer
        self._special_names = dict(special_names)

    def encode(
        self,
        messages: Sequence[Mapping[str, Any]],
        tools: Sequence[Mapping[str, Any]] | None = None,
        add_generation_prompt: bool = True,
    ) -> list[int]:
        """Raises InvalidInput where the template cannot take these messages or tools."""
        plain = normalize(messages)
        self._check_tools(plain, tools)
        try:
            mark, marked, marked_tools = self._mark(plain, tools)
        except RecursionError:
            raise InvalidInput("messages", "or tools are nested too deeply") from None
        rendered = self._render(marked, marked_tools, add_generation_prompt)
        # A template may ask for JSON in ASCII, which spells the mark as an escape.
        return self._tokenizer.encode_marked(rendered.replace(escaped(mark), mark), mark)

    def _mark(self, messages: list[dict[str, Any]], tools: Any) -> tuple[str, Any, Any]:
        """The mark, and all that users wrote with it. Roles go unmarked: they are ours, and
        templates build special tokens of them."""
        texts = [self._source]
        map_strings([messages, tools], lambda text: texts.append(text) or text)
        mark = choose_mark(texts)

        def protect(text: str) -> str:
            return self._tokenizer.specials.protect(text, mark)

        marked = [
            {k: v if k == "role" else map_strings(v, protect) for k, v in message.items()}
            for message in messages
        ]
        return mark, marked, map_strings(list(tools), protect) if tools else None

    def _check_tools(self, messages: list[dict[str, Any]], tools: Any) -> None:
        if tools and not self.takes_tools:
            raise InvalidInput("tools", "this model's chat template takes none")
        for index, message in enumerate(messages):
            if message.get("tool_calls") and not self._takes_calls:
                field = f"messages[{index}].tool_calls"
                raise InvalidInput(field, "this model's chat template takes none")

    def _render(self, messages: Any, tools: Any, add_generation_prompt: bool) -> str:
        variables = {
            **self._special_names,
            Budget.KEY: self._budget(),
            "messages": messages,
            "tools": tools,
            "documents": None,
            "add_generation_prompt": add_generation_prompt,
        }
        try:
            return self._template.render(variables)
        except jinja2.TemplateError as error:
            raise InvalidInput("messages", f"the chat template refuses: {error}") from error
        except Exception as error:  # anything that an operation on the messages can raise
            reason = f"the chat template fails: {type(error).__name__}: {error}"
            raise InvalidInput("messages", reason) from error
