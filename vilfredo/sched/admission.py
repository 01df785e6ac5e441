"""What may enter the queue: requests that can succeed, while there is room for them to wait."""

from vilfredo.base.errors import InvalidInput, Overloaded
from vilfredo.base.plan import Plan
from vilfredo.core.request import Request

LEAST_RETRY, MOST_RETRY = 1.0, 60.0  # seconds


def check_request(request: Request, context: int) -> None:
    """Raises InvalidInput for a request that could never give a token."""
    prompt, given, limits = len(request.prompt), len(request.output), request.limits
    if prompt == 0:
        raise InvalidInput("prompt", "must hold at least one token")
    if prompt >= context:
        raise InvalidInput(
            "prompt", f"its {prompt} tokens leave no room for output in a context of {context}"
        )
    if limits.max_tokens < 1:
        raise InvalidInput("max_tokens", f"must be at least 1, not {limits.max_tokens}")
    if given and (
        given >= limits.max_tokens
        or prompt + given >= context
        or request.output[-1] in limits.stop_tokens
    ):
        raise InvalidInput("output", f"the {given} tokens already given out are complete")


def check_room(
    request: Request, plan: Plan, waiting: int, waiting_tokens: int, last_wait: float
) -> None:
    """Raises Overloaded where the queue has no room for the request.

    A queue drains once in about the time that its head has waited, so that is when to come back.
    An empty queue takes any prompt: the bound on tokens must not shut out a long one for good.
    """
    retry_after = min(max(last_wait, LEAST_RETRY), MOST_RETRY)
    if waiting >= plan.max_waiting:
        raise Overloaded(f"{waiting} requests wait already", retry_after)
    if waiting and waiting_tokens + len(request.prompt) > plan.max_waiting_tokens:
        raise Overloaded(f"{waiting_tokens} prompt tokens wait already", retry_after)
