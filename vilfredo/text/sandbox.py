"""Runs a model's chat template: sandboxed, and bounded in steps and characters.

A template comes with the model's file and is fed what users wrote: it may loop for ever, grow
without end or reach for attributes, and gets nowhere by any of them.
"""

import json
import re
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
from vilfredo.text.growth import (
    bounded_join,
    bounded_replace,
    charge_call,
    charge_operator,
    charge_result,
)

# Filters and methods that make much out of little; no chat template needs them.
_WIDENING_FILTERS = ("batch", "center", "format", "indent", "slice", "wordwrap", "xmlattr")
_WIDENING_METHODS = frozenset(
    (
        *("center", "encode", "expandtabs", "format", "format_map"),
        *("ljust", "rjust", "translate", "zfill"),
    )
)
_WIDE = re.compile(r":[^}]*(\d{3}|\{)")  # a width of many digits, or one given elsewhere
LARGEST_INDENT = 16  # of JSON


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
        del self.globals["lipsum"]
        self.filters.update(tojson=_to_json, replace=bounded_replace, join=bounded_join)
        self.filters.update(counted=_counted, written=_written)
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
        if isinstance(obj, int | float) or (isinstance(obj, str) and attr in _WIDENING_METHODS):
            return False
        return super().is_safe_attribute(obj, attr, value)

    def wrap_str_format(self, value: Any) -> Callable[..., str] | None:
        """Only formats that cannot ask for a great width."""
        method = super().wrap_str_format(value)
        return None if method is None or _WIDE.search(value.__self__) else method

    def call(__self, __context: Context, __obj: Any, *args: Any, **kwargs: Any) -> Any:
        budget = Budget.of(__context)
        budget.step()
        args = charge_call(budget, __obj, args)
        return charge_result(budget, super().call(__context, __obj, *args, **kwargs))

    def call_binop(self, context: Context, operator: str, left: Any, right: Any) -> Any:
        budget = Budget.of(context)
        charge_operator(budget, operator, left, right)
        return charge_result(budget, super().call_binop(context, operator, left, right))


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


def _to_json(value: Any, **options: Any) -> str:
    """Unlike Jinja's own, escapes no HTML: what the template shows is not a page."""
    indent = options.get("indent")
    if indent is not None and not (isinstance(indent, int) and indent <= LARGEST_INDENT):
        raise SecurityError(f"an indent must be a number up to {LARGEST_INDENT}")
    return json.dumps(value, **{"ensure_ascii": False, **options})


def _raise_exception(message: str) -> None:
    raise jinja2.TemplateError(message)
