"""Runs a model's chat template: sandboxed, and bounded in steps and characters.

A template comes with the model's file and is fed what users wrote: it may loop for ever, grow
without end or reach for attributes, and gets nowhere by any of them.
"""

import json
from collections.abc import Callable, Iterator
from datetime import datetime
from typing import Any

import jinja2
from jinja2 import nodes
from jinja2.exceptions import SecurityError
from jinja2.ext import Extension
from jinja2.parser import Parser
from jinja2.runtime import Context
from jinja2.sandbox import ImmutableSandboxedEnvironment

from vilfredo.text.budget import Budget

# Filters and methods that make much out of little; no chat template needs them.
_WIDENING_FILTERS = ("batch", "center", "format", "indent", "slice", "wordwrap", "xmlattr")
_WIDENING_METHODS = frozenset(
    ("center", "expandtabs", "format", "format_map", "ljust", "rjust", "translate", "zfill")
)


class TemplateEnvironment(ImmutableSandboxedEnvironment):
    """The dialect that models' templates are written in: Hugging Face's."""

    intercepted_binops = frozenset(("+", "*", "**", "%"))

    def __init__(self, now: Callable[[], datetime]) -> None:
        super().__init__(
            trim_blocks=True,
            lstrip_blocks=True,
            extensions=["jinja2.ext.loopcontrols", Generation],
        )
        for name in _WIDENING_FILTERS:
            del self.filters[name]
        self.filters.update(tojson=_to_json, counted=_counted, written=_written)
        self.globals["raise_exception"] = _raise_exception
        self.globals["strftime_now"] = lambda pattern: now().strftime(pattern)

    def _parse(self, source: str, name: str | None, filename: str | None) -> nodes.Template:
        """Sends every loop and all that is put together by way of the budget, in macros too."""
        tree = super()._parse(source, name, filename)
        for loop in tree.find_all(nodes.For):
            loop.iter = _filtered("counted", loop.iter)
        for output in tree.find_all(nodes.Output):
            output.nodes = [_filtered("written", _expression(part)) for part in output.nodes]
        for concat in tree.find_all(nodes.Concat):
            concat.nodes = [_filtered("written", part) for part in concat.nodes]
        return tree

    def is_safe_attribute(self, obj: Any, attr: str, value: Any) -> bool:
        if isinstance(obj, str) and attr in _WIDENING_METHODS:
            return False
        return super().is_safe_attribute(obj, attr, value)

    def call(__self, __context: Context, __obj: Any, *args: Any, **kwargs: Any) -> Any:
        Budget.of(__context).step()
        return _charged(__context, super().call(__context, __obj, *args, **kwargs))

    def call_binop(self, context: Context, operator: str, left: Any, right: Any) -> Any:
        match operator, left, right:
            case "**", _, _:
                raise SecurityError("powers are not allowed")
            case "%", str(), _:
                raise SecurityError("formatting with % is not allowed")
            case "*", int() | float(), int() | float():
                pass
            case "*", _, int():
                Budget.of(context).write(len(left) * max(right, 0))
            case "*", int(), _:
                Budget.of(context).write(len(right) * max(left, 0))
        return _charged(context, super().call_binop(context, operator, left, right))


class Generation(Extension):
    """`{% generation %}`…`{% endgeneration %}` marks what the model says; its body is kept."""

    tags = {"generation"}  # noqa: RUF012

    def parse(self, parser: Parser) -> list[nodes.Node]:
        next(parser.stream)
        return parser.parse_statements(("name:endgeneration",), drop_needle=True)


def _filtered(name: str, node: Any) -> nodes.Expr:
    return nodes.Filter(node, name, [], [], None, None, lineno=node.lineno)


def _expression(part: Any) -> nodes.Expr:
    """Literal text as an expression, so that it can be filtered."""
    if isinstance(part, nodes.TemplateData):
        return nodes.Const(part.data, lineno=part.lineno)
    return part


@jinja2.pass_context
def _counted(context: Context, items: Any) -> Iterator[Any]:
    budget = Budget.of(context)
    for item in items:
        budget.step()
        yield item


@jinja2.pass_context
def _written(context: Context, value: Any) -> Any:
    text = str(value)
    Budget.of(context).write(len(text))
    return text


def _charged(context: Context, value: Any) -> Any:
    if isinstance(value, str | list | tuple):
        Budget.of(context).write(len(value))
    return value


def _to_json(value: Any, **options: Any) -> str:
    """Unlike Jinja's own, escapes no HTML: what the template shows is not a page."""
    return json.dumps(value, **{"ensure_ascii": False, **options})


def _raise_exception(message: str) -> None:
    raise jinja2.TemplateError(message)
