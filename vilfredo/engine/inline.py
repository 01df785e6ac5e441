"""The engine in the caller's own thread: for scripts and one-off answers, with nothing to start."""

from collections.abc import Iterable, Iterator
from typing import assert_never

from vilfredo.base.errors import Overloaded
from vilfredo.core.request import Request
from vilfredo.engine.engine import Engine
from vilfredo.engine.messages import Delta, Refused


def run(engine: Engine, requests: Iterable[Request]) -> Iterator[Delta]:
    """Every delta of every request, as the steps give them. Closing it early cancels the rest.

    Raises Overloaded where the queue cannot hold all of the requests.
    """
    open_ids: set[str] = set()
    try:
        for request in requests:
            match engine.submit(request):
                case Refused(reason=reason, retry_after=retry_after):
                    raise Overloaded(reason, retry_after)
                case Delta() as delta:
                    yield delta
                case None:
                    open_ids.add(request.id)
                case never:
                    assert_never(never)
        while open_ids:
            for delta in engine.step():
                if delta.finish is not None:
                    open_ids.discard(delta.id)
                yield delta
    finally:
        for request_id in open_ids:
            engine.cancel(request_id)
