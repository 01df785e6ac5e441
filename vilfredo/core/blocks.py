"""The KV cache's bookkeeping: who holds which block, and which blocks can be found again by what
they hold. Integers and hashes only; it never touches the memory that it speaks of."""

from array import array
from collections import OrderedDict
from collections.abc import Iterable
from hashlib import blake2b


def extend_keys(keys: list[bytes], tenant: str, tokens: list[int], block_tokens: int) -> None:
    """Brings `keys` up to one for each full block of `tokens`.

    A block's key is a strong hash of its tokens and its parent's key, so it stands for all tokens
    up to the block's end. The first parent is a hash of the tenant, in a domain of its own: no
    tokens lead from one tenant's blocks to another's.
    """
    for end in range((len(keys) + 1) * block_tokens, len(tokens) + 1, block_tokens):
        parent = keys[-1] if keys else _digest(tenant.encode(), b"tenant")
        content = array("q", tokens[end - block_tokens : end]).tobytes()
        keys.append(_digest(parent + content, b"block"))


def _digest(content: bytes, domain: bytes) -> bytes:
    return blake2b(content, digest_size=32, person=domain).digest()


class BlockPool:
    """Every block is held (by one sequence or more), idle (by none, but still findable) or blank.

    Idle blocks are given out again only when no blank one is left, the longest idle first. Free a
    sequence's blocks from the last to the first: then a block never outlives its parent.
    """

    def __init__(self, blocks: int) -> None:
        self.blocks = blocks
        self._holders = [0] * blocks
        self._keys: list[bytes | None] = [None] * blocks  # of the blocks that can be found
        self._found: dict[bytes, int] = {}
        self._blank = list(reversed(range(blocks)))
        self._idle: OrderedDict[int, None] = OrderedDict()

    @property
    def available(self) -> int:
        """How many blocks can be taken now."""
        return len(self._blank) + len(self._idle)

    def is_held(self, block: int) -> bool:
        return self._holders[block] > 0

    def find(self, keys: Iterable[bytes]) -> list[int]:
        """The blocks of the longest prefix of `keys` that is cached. Nobody holds them for that."""
        blocks: list[int] = []
        for key in keys:
            block = self._found.get(key)
            if block is None:
                break
            blocks.append(block)
        return blocks

    def take(self) -> int:
        """A block of unknown content, held once. Only while any is available."""
        if self._blank:
            block = self._blank.pop()
        else:
            block, _ = self._idle.popitem(last=False)
            self.forget(block)
        self._holders[block] = 1
        return block

    def share(self, block: int) -> None:
        """One more holder, of a block that was found or is held."""
        self._idle.pop(block, None)
        self._holders[block] += 1

    def free(self, block: int) -> None:
        """One holder less."""
        self._holders[block] -= 1
        if self._holders[block]:
            return
        if self._keys[block] is None:
            self._blank.append(block)
        else:
            self._idle[block] = None

    def publish(self, block: int, key: bytes) -> int:
        """Makes a held, full block findable, and gives the block to hold in its place.

        That is another one where the same tokens are already cached: of two alike, one stays.
        """
        known = self._found.setdefault(key, block)
        if known == block:
            self._keys[block] = key
        else:
            self.share(known)
            self.free(block)
        return known

    def forget(self, block: int) -> None:
        """Makes a block that is held, or just leaves the idle ones, unfindable."""
        key = self._keys[block]
        if key is not None:
            del self._found[key]
            self._keys[block] = None
