"""What the operations of a template that make much out of little are charged, before they run."""

from typing import Any

import jinja2
from jinja2.exceptions import SecurityError
from jinja2.filters import do_join, do_replace
from jinja2.runtime import Context

from vilfredo.text.budget import Budget

LARGEST_BITS = 128  # of a number


def charge_operator(budget: Budget, operator: str, left: Any, right: Any) -> None:
    """Powers and % on strings have no bound worth reckoning, nor a use in a chat template."""
    match operator, left, right:
        case ("**", _, _) | ("%", str(), _):
            raise SecurityError(f"{operator} is not allowed here")
        case "*", int(), int():
            if left.bit_length() + right.bit_length() > LARGEST_BITS:
                raise SecurityError("it makes too large a number")
        case "*", str() | list() | tuple(), int():
            budget.write(len(left) * max(right, 0))
        case "*", int(), str() | list() | tuple():
            budget.write(len(right) * max(left, 0))
        case _:
            pass


def charge_call(budget: Budget, called: Any, arguments: tuple[Any, ...]) -> tuple[Any, ...]:
    """Charges `text.replace(…)` and `text.join(…)`, the methods that make more than they get;
    gives the arguments to call with, since an iterator can be counted only by using it up."""
    text = getattr(called, "__self__", None)
    if isinstance(text, str):
        match called.__name__, arguments:
            case "replace", (str(old), str(new), *_):
                budget.write(text.count(old) * len(new))
            case "join", (items,):
                arguments = (list(items),)
                budget.write(len(arguments[0]) * len(text))
    return arguments


def charge_result(budget: Budget, value: Any) -> Any:
    if isinstance(value, str | list | tuple):
        budget.write(len(value))
    return value


@jinja2.pass_context
def bounded_replace(
    context: Context, text: Any, old: str, new: str, count: int | None = None
) -> Any:
    Budget.of(context).write(str(text).count(old) * len(new))
    return do_replace(context.eval_ctx, str(text), old, new, count)


@jinja2.pass_context
def bounded_join(context: Context, value: Any, d: str = "", attribute: Any = None) -> Any:
    items = list(value)
    Budget.of(context).write(len(items) * len(d))
    return do_join(context.eval_ctx, items, d, attribute)
