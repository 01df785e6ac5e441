"""Work that is worth doing only while the client is there."""

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

from starlette.requests import ClientDisconnect
from starlette.types import Receive

Result = TypeVar("Result")


async def unless_gone(receive: Receive, work: Coroutine[Any, Any, Result]) -> Result:
    """The work's result; raises ClientDisconnect, with the work cancelled and ended, where the
    client leaves first. The request's body must have been read."""
    working = asyncio.create_task(work)
    watching = asyncio.create_task(_departure(receive))
    try:
        await asyncio.wait({working, watching}, return_when=asyncio.FIRST_COMPLETED)
        if working.done():
            return working.result()
        raise ClientDisconnect
    finally:
        working.cancel()
        watching.cancel()
        await asyncio.wait({working, watching})


async def _departure(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
