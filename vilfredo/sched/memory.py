"""The blocks of sequences: what the pool does for one block, this does for a sequence's tokens."""

from array import array
from collections.abc import Iterable, Set

from vilfredo.core.blocks import BlockPool, extend_keys
from vilfredo.core.sequence import Sequence


class Memory:
    def __init__(self, blocks: int, block_tokens: int) -> None:
        self._pool = BlockPool(blocks)
        self._size = block_tokens

    @property
    def available(self) -> int:
        return self._pool.available

    @property
    def used(self) -> int:
        return self._pool.blocks - self._pool.available

    def short_of_blocks(self, sequences: Iterable[Sequence]) -> list[Sequence]:
        """Those whose blocks do not reach their last token; each lacks one."""
        size = self._size
        return [s for s in sequences if len(s.blocks) * size < len(s.tokens)]

    def grow(self, sequence: Sequence) -> None:
        sequence.blocks.append(self._pool.take())

    def reserve(self, sequence: Sequence, coming: Set[bytes], spare: int) -> bool:
        """Gives a sequence blocks for all its tokens, from the cache as far as that holds them.

        False, and nothing is taken, where fewer than `spare` would be left, or where the first
        block to compute is one of those `coming` from a sequence that computes it now.
        """
        pool, length = self._pool, len(sequence.tokens)
        self._extend_keys(sequence)
        keys = sequence.keys[: (length - 1) // self._size]  # the last token is always computed
        found = pool.find(keys)
        if len(found) < len(keys) and keys[len(found)] in coming:
            return False
        missing = -(-length // self._size) - len(found)
        idle = sum(not pool.is_held(block) for block in found)
        if missing + idle + spare > pool.available:
            return False
        for block in found:
            pool.share(block)
        sequence.blocks = array("i", found + [pool.take() for _ in range(missing)])
        sequence.computed = len(found) * self._size
        return True

    def advance(self, sequence: Sequence, count: int) -> None:
        """Notes that the next `count` tokens are computed; blocks that they fill can be found."""
        first = sequence.computed // self._size
        sequence.computed += count
        full = sequence.computed // self._size
        if first == full:
            return
        self._extend_keys(sequence)
        blocks = sequence.blocks
        for index in range(first, full):
            blocks[index] = self._pool.publish(blocks[index], sequence.keys[index])

    def distrust(self, sequence: Sequence) -> None:
        """Keeps what a sequence's blocks hold from being found, whoever else holds them."""
        for block in sequence.blocks:
            self._pool.forget(block)

    def release(self, sequence: Sequence) -> None:
        for block in reversed(sequence.blocks):
            self._pool.free(block)
        sequence.blocks = array("i")
        sequence.computed = 0

    def _extend_keys(self, sequence: Sequence) -> None:
        extend_keys(sequence.keys, sequence.request.tenant, sequence.tokens, self._size)
