"""What a prefix cache would have kept: blocks of tokens whose whole beginning was seen before.

Blocks of 16 tokens, as vLLM's are by default. Nothing is ever evicted.
"""

import threading
from collections.abc import Sequence
from hashlib import sha256

BLOCK_TOKENS = 16


class PrefixCache:
    """Counts tokens seen, and how many of them a prefix cache would have saved.

    >>> cache = PrefixCache()
    >>> [cache.see(["a"] * 40), cache.see(["a"] * 33), cache.see(["b"] + ["a"] * 39)]
    [0, 32, 0]
    """

    def __init__(self) -> None:
        self.tokens = 0
        self.cached_tokens = 0
        self._blocks: set[bytes] = set()
        self._guard = threading.Lock()

    @property
    def share(self) -> float:
        """The share of all prompt tokens that was cached; 0 when there were none."""
        return self.cached_tokens / self.tokens if self.tokens else 0.0

    def see(self, tokens: Sequence[str]) -> int:
        """Take a prompt in; return how many tokens of its beginning were already there."""
        with self._guard:
            cached, chain = 0, b""
            for start in range(0, len(tokens) - BLOCK_TOKENS + 1, BLOCK_TOKENS):
                block = "\0".join(tokens[start : start + BLOCK_TOKENS])
                chain = sha256(chain + block.encode()).digest()
                cached += BLOCK_TOKENS * (chain in self._blocks)
                self._blocks.add(chain)
            self.tokens += len(tokens)
            self.cached_tokens += cached
            return cached
