"""Tokens by the word, from memory: most words of a text were seen before.

For tokenizers whose tokens never depend on what stands beyond a mark (`Tokens.separable`). A text
falls into words and marks by one regular expression; a word's tokens are looked up, and only new
words go through the tokenizer. Measured with MiniLM's WordPiece on a busy machine, MB per second
of one core: English 1.2 to 1.7 without it, 3 to 5 with it on first sight of a text and 7 to 14 of
words that are known; Chinese 0.8 to 1.0, 4 and 5 to 8. It knows nothing of any one tokenizer.
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Callable, Sequence
from itertools import accumulate, pairwise
from threading import Lock
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Table = tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int32]]  # starts, ends, ids
    Tokenise = Callable[[Sequence[tuple[int, str]]], Table]  # of the pieces of a text

# Tokenizers slow down on long strings: 1.2 MB/s on one of 1.4 MB, 5 to 6 MB/s in pieces of this.
PIECE_CHARS: Final = 8000
# What is remembered at most, arbitrary: some 20 MB. Texts in one language have fewer words.
MAX_WORDS: Final = 200_000
MAX_CHARS: Final = 4_000_000


class WordTokens:
    """The tokens of words seen so far; `marks` is the inside of a regular expression's class.

    `tokenise` gives the starts, ends and ids of a text's tokens, of pieces and where each begins.
    One text is looked up at a time.
    """

    def __init__(self, marks: str, tokenise: Tokenise) -> None:
        # A space ends most words: taken with them, it halves what is to be looked up.
        self._words = re.compile(rf"[^{marks}]+ ?|[{marks}] ?")
        self._tokenise = tokenise
        self._lock = Lock()
        self._clear()

    def look_up(self, text: str) -> Table:
        """Return the starts, ends and ids of a text's tokens, as `tokenise` would."""
        import numpy as np

        words = self._words.findall(text)
        with self._lock:
            if len(self._numbers) > MAX_WORDS or self._chars > MAX_CHARS or self._numbers.new:
                self._clear()  # `new` is left over where an error broke in
            numbers = np.fromiter(map(self._numbers.__getitem__, words), np.int64, len(words))
            if self._numbers.new:
                self._learn(self._numbers.new)
            lengths = np.frombuffer(self._lengths, np.int32)[numbers]
            firsts = np.frombuffer(self._firsts, np.int32)
            first = firsts[numbers]
            counts = firsts[numbers + 1] - first
            places = _ranges(first, counts)
            starts, ends, ids = (
                np.frombuffer(kept, np.int32)[places]
                for kept in (self._starts, self._ends, self._ids)
            )
        begins: NDArray[np.int64] = np.cumsum(lengths, dtype=np.int64) - lengths
        base = np.repeat(begins, counts)
        return base + starts, base + ends, ids

    def _learn(self, words: list[str]) -> None:
        """Tokenise new words, all at once: each on a line of its own, which is a mark."""
        import numpy as np

        lengths = [len(word) for word in words]
        lines = np.fromiter(accumulate(lengths, lambda n, length: n + 1 + length), np.int64)
        begins = lines - np.array(lengths)
        whole = "\n".join(words)
        edges = [*begins[np.unique(begins // PIECE_CHARS, return_index=True)[1]], len(whole)]
        pieces = [(int(a), whole[a:b]) for a, b in pairwise(edges)]
        starts, ends, ids = self._tokenise(pieces)
        of = np.searchsorted(begins, starts, side="right") - 1  # the word of each token
        counts = np.bincount(of, minlength=len(words))
        self._starts.frombytes((starts - begins[of]).astype(np.int32).tobytes())
        self._ends.frombytes((ends - begins[of]).astype(np.int32).tobytes())
        self._ids.frombytes(ids.tobytes())
        self._lengths.extend(lengths)
        self._firsts.frombytes((self._firsts[-1] + np.cumsum(counts)).astype(np.int32).tobytes())
        self._chars += sum(lengths)
        self._numbers.new = []

    def _clear(self) -> None:
        self._numbers = _Numbers()
        self._chars = 0
        self._lengths = array("i")  # of each word
        self._firsts = array("i", [0])  # of each word, where its tokens begin below; and the end
        self._starts, self._ends, self._ids = array("i"), array("i"), array("i")  # of each token


class _Numbers(dict[str, int]):
    """Words and their numbers; a word that is asked for first is given the next one."""

    def __init__(self) -> None:
        self.new: list[str] = []

    def __missing__(self, word: str) -> int:
        number = self[word] = len(self)
        self.new.append(word)
        return number


def _ranges(firsts: NDArray[np.int32], counts: NDArray[np.int32]) -> NDArray[np.int64]:
    """Join the ranges that begin at `firsts`, of so many numbers each.

    >>> import numpy as np
    >>> _ranges(np.array([7, 3], np.int32), np.array([2, 3], np.int32)).tolist()
    [7, 8, 3, 4, 5]
    """
    import numpy as np

    ends = np.cumsum(counts, dtype=np.int64)
    total = int(ends[-1]) if len(ends) else 0
    return np.repeat(firsts - (ends - counts), counts) + np.arange(total)
