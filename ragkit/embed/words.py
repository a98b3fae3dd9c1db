"""Cache tokens by word, as most words of a text occur again.

For tokenizers whose tokens never depend on what stands beyond a mark (`Tokens.separable`). A text
falls into words at spaces, or into words and marks by one regular expression; a word's tokens are
looked up, and only new words go through the tokenizer. Measured with MiniLM's WordPiece on a busy
machine, MB per second of one core: English 1.2 to 1.7 without it, 3 to 5 with it on first sight of
a text and 12 to 15 of words that are known; Chinese 0.8 to 1.0, 4 and 5 to 8.
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Callable, Sequence
from itertools import accumulate, pairwise
from threading import Lock
from typing import TYPE_CHECKING, Final

from ragkit.text.numbering import Numbers, ranges

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
# Where a space comes that often on the average, a text falls into words at spaces alone: no regular
# expression is as quick, but punctuation makes more words of one.
_MOST_CHARS: Final = 12


class WordTokens:
    """The tokens of words seen so far.

    `marks` is the inside of a regular expression's class, a space among them.

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

        spaced = len(text) < _MOST_CHARS * text.count(" ")
        words = text.split(" ") if spaced else self._words.findall(text)
        with self._lock:
            if len(self._numbers) > MAX_WORDS or self._chars > MAX_CHARS or self._numbers.new:
                self._clear()  # `new` is left over where an error broke in
            numbers = self._numbers.of(words, len(words))
            if self._numbers.new:
                self._learn(self._numbers.new)
            lengths, counts, starts, ends, ids = self._tokens_of(numbers)
        begins: NDArray[np.int64] = np.cumsum(lengths, dtype=np.int64) - lengths
        if spaced:
            begins += np.arange(len(words))
        base = begins.repeat(counts)
        return base + starts, base + ends, ids

    def _tokens_of(self, numbers: NDArray[np.int32]) -> Sequence[NDArray[np.int32]]:
        """Return words' lengths and how many tokens each has, and these tokens' starts, ends, ids.

        All are copies: what is kept cannot grow while anybody looks at it.
        """
        import numpy as np

        firsts = np.frombuffer(self._firsts, np.int32)
        first = firsts[numbers]
        counts = firsts[numbers + 1] - first
        places = ranges(first, counts)
        of_tokens = (self._starts, self._ends, self._ids)
        tokens = (np.frombuffer(kept, np.int32)[places] for kept in of_tokens)
        return np.frombuffer(self._lengths, np.int32)[numbers], counts, *tokens

    def _learn(self, words: list[str]) -> None:
        """Tokenise new words, all at once: each on a line of its own, which is a mark."""
        import numpy as np

        lengths = [len(word) for word in words]
        lines = np.fromiter(accumulate(lengths, lambda n, length: n + 1 + length), np.int64)
        begins = lines - np.array(lengths)
        text = "\n".join(words)
        edges = [*begins[np.unique(begins // PIECE_CHARS, return_index=True)[1]], len(text)]
        pieces = [(int(a), text[a:b]) for a, b in pairwise(edges)]
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
        self._numbers = Numbers[str]()
        self._chars = 0
        self._lengths = array("i")  # of each word
        self._firsts = array("i", [0])  # of each word, where its tokens begin below; and the end
        self._starts, self._ends, self._ids = array("i"), array("i"), array("i")  # of each token
