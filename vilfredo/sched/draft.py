"""A step in the making: spans under one token budget."""

from vilfredo.core.sequence import Sequence
from vilfredo.core.step import Span


class Draft:
    """`coming` holds the keys of prompt blocks that the step fills, so that a sequence which
    needs one of them can wait for it instead of computing it too."""

    def __init__(self, spans: list[Span], budget: int, block_tokens: int) -> None:
        """Begins with spans of one token each."""
        self.spans = spans
        self.budget = budget - len(spans)  # tokens left
        self.coming: set[bytes] = set()
        self._block_tokens = block_tokens

    def add(self, sequence: Sequence) -> None:
        """As many tokens of the sequence as the budget, of which some is left, allows."""
        start, length = sequence.computed, len(sequence.tokens)
        end = min(start + self.budget, length)
        self.spans.append(Span(sequence, start, end - start, samples=end == length))
        self.budget -= end - start
        size = self._block_tokens
        self.coming.update(sequence.keys[start // size : end // size])
