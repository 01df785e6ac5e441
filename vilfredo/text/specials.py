"""Special tokens as they are spelled: finds them in a text, and hides what content spells."""

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from functools import cached_property
from itertools import pairwise


class SpecialTokens:
    """The vocabulary's control tokens by spelling; matches leftmost, then longest.

    A spelling of one character is left out: it cannot be told from ordinary text.
    """

    def __init__(self, ids: Mapping[str, int]) -> None:
        self.ids = {spelling: token for spelling, token in ids.items() if len(spelling) > 1}
        lengths: dict[str, set[int]] = defaultdict(set)
        for spelling in self.ids:
            lengths[spelling[0]].add(len(spelling))
        self._lengths = {first: sorted(sizes, reverse=True) for first, sizes in lengths.items()}
        # A gemma has thousands of control tokens: as one alternation they would take a long time
        # to compile and to match, so only their first characters are searched for.
        firsts = "".join(map(re.escape, self._lengths))
        self._first = re.compile(f"[{firsts}]" if firsts else "(?!)")

    def split(self, text: str) -> Iterator[str | int]:
        """The text's ordinary stretches (never empty) and, between them, special tokens."""
        done = 0
        for start, spelling in self._occurrences(text):
            if start < done:
                continue
            if start > done:
                yield text[done:start]
            yield self.ids[spelling]
            done = start + len(spelling)
        if done < len(text):
            yield text[done:]

    def protect(self, content: str, mark: str) -> str:
        """The content with a mark inside every special spelling and wherever its start or end
        could complete one with the text around it: `split` then finds nothing that it began or
        ended. What a template builds around a whole value, as `<|role|>`, is the template's."""
        cuts = self._inside(content)
        longest = max(map(len, self.ids), default=1) - 1
        heads, tails = self._edges
        for length in range(1, min(longest, len(content)) + 1):
            if content[-length:] in heads:
                cuts.add(len(content))
            if content[:length] in tails:
                cuts.add(0)
        return mark.join(_cut(content, cuts))

    def cut(self, text: str) -> list[str]:
        """The text in pieces, none of which spells a special token."""
        return _cut(text, self._inside(text))

    def _inside(self, text: str) -> set[int]:
        """A position within every special spelling."""
        return {start + 1 for start, _ in self._occurrences(text)}

    def _occurrences(self, text: str) -> Iterator[tuple[int, str]]:
        """Every place where a special token is spelled, overlapping ones too; the longest there."""
        for match in self._first.finditer(text):
            start = match.start()
            for length in self._lengths[text[start]]:
                if (spelling := text[start : start + length]) in self.ids:
                    yield start, spelling
                    break

    @cached_property
    def _edges(self) -> tuple[frozenset[str], frozenset[str]]:
        """What special spellings begin with and what they end with, whole ones left out."""
        heads = frozenset(s[:n] for s in self.ids for n in range(1, len(s)))
        tails = frozenset(s[n:] for s in self.ids for n in range(1, len(s)))
        return heads, tails


def _cut(text: str, positions: set[int]) -> list[str]:
    borders = [0, *sorted(positions), len(text)]
    return [text[start:end] for start, end in pairwise(borders)]
