"""Cuts generated text at stop strings while it streams; joined, it is the whole text's cut."""

from collections.abc import Sequence

import msgspec

from vilfredo.base.errors import InvalidInput
from vilfredo.text.detokenizer import Detokenizer
from vilfredo.text.protocol import Tokenizer


class TextDelta(msgspec.Struct, frozen=True, gc=False):
    text: str  # ready to be sent
    stopped: str | None  # the stop string that ended the text
    consumed: int  # of the pushed tokens, those up to and with the one that completed the stop


class TextStream:
    """The text ends where a stop string is first completed, whatever tokens it came in; of two
    completed by the same character, the longer counts. Text that might yet become a stop string
    is withheld until that is decided. Pass `continues` where the text carries on the prompt's.
    """

    def __init__(
        self,
        tokenizer: Tokenizer,
        stops: tuple[str, ...] = (),
        include_stop: bool = False,
        continues: bool = False,
    ) -> None:
        if "" in stops:
            raise InvalidInput("stop", "must not be empty")
        self._detokenizer = Detokenizer(tokenizer, continues)
        self._stops = stops
        self._include_stop = include_stop
        self._held = ""
        self._stopped: str | None = None

    def push(self, tokens: Sequence[int]) -> TextDelta:
        if not self._stops:
            return TextDelta("".join(map(self._detokenizer.push, tokens)), None, len(tokens))
        parts: list[str] = []
        consumed = 0
        for token in tokens:
            if self._stopped is not None:
                break
            consumed += 1
            parts.append(self._take(self._detokenizer.push(token)))
        return TextDelta("".join(parts), self._stopped, consumed)

    def finish(self) -> TextDelta:
        """What was withheld, once no more tokens come."""
        if self._stopped is not None:
            return TextDelta("", self._stopped, 0)
        text = self._take(self._detokenizer.flush())
        if self._stopped is None:
            text, self._held = text + self._held, ""
        return TextDelta(text, self._stopped, 0)

    def _take(self, text: str) -> str:
        """The part of the held and the new text that can be sent."""
        text = self._held + text
        found = self._first_stop(text)
        if found is not None:
            start, end = found
            self._stopped, self._held = text[start:end], ""
            return text[: end if self._include_stop else start]
        keep = self._undecided(text)
        self._held = text[keep:]
        return text[:keep]

    def _first_stop(self, text: str) -> tuple[int, int] | None:
        """Start and end of the stop string that is completed first."""
        best: tuple[int, int] | None = None
        for stop in self._stops:
            start = text.find(stop)
            if start < 0:
                continue
            end = start + len(stop)
            if best is None or (end, start) < (best[1], best[0]):
                best = (start, end)
        return best

    def _undecided(self, text: str) -> int:
        """Where the longest end of the text that begins a stop string starts."""
        longest = max(map(len, self._stops), default=1) - 1
        for start in range(max(0, len(text) - longest), len(text)):
            if any(stop.startswith(text[start:]) for stop in self._stops):
                return start
        return len(text)
