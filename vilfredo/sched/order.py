"""Who goes next among the waiting: first come, first served. The one file that decides order."""

from collections import OrderedDict

from vilfredo.core.sequence import Sequence


class Queue:
    """Every operation takes constant time, however many wait."""

    def __init__(self) -> None:
        self.tokens = 0  # of all that wait
        self._sequences: OrderedDict[str, Sequence] = OrderedDict()

    def __len__(self) -> int:
        return len(self._sequences)

    def __contains__(self, request_id: str) -> bool:
        return request_id in self._sequences

    @property
    def head(self) -> Sequence:
        """The next to be admitted. Only while any waits."""
        return next(iter(self._sequences.values()))

    def push(self, sequence: Sequence) -> None:
        self._sequences[sequence.request.id] = sequence
        self.tokens += len(sequence.tokens)

    def restore(self, sequence: Sequence) -> None:
        """Puts back at the front what had been admitted."""
        self.push(sequence)
        self._sequences.move_to_end(sequence.request.id, last=False)

    def remove(self, request_id: str) -> Sequence | None:
        sequence = self._sequences.pop(request_id, None)
        if sequence is not None:
            self.tokens -= len(sequence.tokens)
        return sequence
