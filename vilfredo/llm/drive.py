"""Takes a batch of prompts through the engine and gives out their text as it comes."""

from collections import deque
from collections.abc import Generator, Sequence
from dataclasses import dataclass, field

from vilfredo.base.errors import VilfredoError
from vilfredo.core.request import Request
from vilfredo.core.sequence import Finish
from vilfredo.core.step import Sampled
from vilfredo.engine.engine import Engine
from vilfredo.engine.messages import Delta, Refused
from vilfredo.text.stream import TextDelta, TextStream


class GenerationFailed(VilfredoError):
    """The engine ended a request with an error: the message is its reason."""


@dataclass(slots=True, eq=False)
class Generation:
    """One prompt on its way; `text` and `tokens` grow until there is a `finish`."""

    request: Request
    stream: TextStream
    text: str = ""
    tokens: list[Sampled] = field(default_factory=list)
    finish: str | None = None
    cached: int = 0

    def take(self, delta: Delta) -> str:
        """The new text. A stop string ends the text, whatever the engine says."""
        if delta.finish == Finish.ERROR.value:
            raise GenerationFailed(delta.reason or "the engine gave no reason")
        self.cached = delta.cached
        self.finish = delta.finish
        pushed = self.stream.push([each.token for each in delta.tokens])
        self.tokens += delta.tokens[: pushed.consumed]
        pieces = [self._read(pushed)]
        if self.finish is not None:
            pieces.append(self._read(self.stream.finish()))
        piece = "".join(pieces)
        self.text += piece
        return piece

    def _read(self, read: TextDelta) -> str:
        if read.stopped is not None:
            self.finish = Finish.STOP.value
        return read.text


def drive(
    engine: Engine, generations: Sequence[Generation]
) -> Generator[tuple[Generation, str], None, None]:
    """Each piece of text and whose it is. Closing it early cancels whatever still runs.

    A batch may be larger than the engine's queue: the rest follows as there is room.
    """
    outside = deque(generations)
    inside: dict[str, Generation] = {}
    try:
        while outside or inside:
            deltas: list[Delta] = []
            while outside:
                request = outside[0].request
                answer = engine.submit(request)
                if isinstance(answer, Refused):
                    break
                inside[request.id] = outside.popleft()
                if answer is not None:
                    deltas.append(answer)
            deltas += engine.step()
            for delta in deltas:
                generation = inside[delta.id]
                piece = generation.take(delta)
                if generation.finish is not None:
                    engine.cancel(delta.id)  # for a stop string; else it has ended already
                    del inside[delta.id]
                if piece:
                    yield generation, piece
    finally:
        for request_id in inside:
            engine.cancel(request_id)
