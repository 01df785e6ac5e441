"""Events of a stream that differ in their text alone: written once, then only filled in."""

from collections.abc import Callable

import msgspec

from vilfredo.server.eventstream import event

_MARK = "text"
_encode = msgspec.json.Encoder().encode


class TextEvent:
    def __init__(self, write: Callable[[str], bytes]) -> None:
        """`write` gives the JSON for a text, which must be the last that a caller or a model can
        choose in it: whatever comes before may hold the mark too."""
        before, _, after = event(write(_MARK)).rpartition(_encode(_MARK))
        self._before = before
        self._after = after

    def of(self, text: str) -> bytes:
        return b"%b%b%b" % (self._before, _encode(text), self._after)
