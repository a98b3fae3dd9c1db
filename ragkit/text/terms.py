"""The terms of many texts as numbers, cached by word, as most words occur again.

A text falls into words at white space and ASCII punctuation; what terms the analyser makes of a
word is looked up, and only new words go through it.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from threading import Lock
from typing import TYPE_CHECKING, Final

from ragkit.text.numbering import Numbers, ranges

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

# No term has one of these in it, nor does what stands on one side of it change the terms on the
# other, whatever the normal form.
_BETWEEN: Final = bytes(code for code in range(128) if not chr(code).isalnum())
_APART: Final = bytes.maketrans(_BETWEEN, b" " * len(_BETWEEN))
# Bytes of UTF-8 in a character, on the average, beyond which too few words are set apart by these,
# or come again: Chinese has 3, Russian 1.8, French 1.04.
_MOST_BYTES: Final = 1.25
# What is remembered at most, arbitrary: some 40 MB. Texts in one language have fewer words.
MAX_WORDS: Final = 200_000
MAX_BYTES: Final = 4_000_000


@dataclass(frozen=True, slots=True)
class Terms:
    """The terms of texts, in order and with repetitions.

    `names` has every term once, and maybe some that no text has; `numbers` are places among them,
    those of all texts one after the other, and `lengths` tells how many are each text's.
    """

    names: Sequence[str]
    numbers: NDArray[np.int32]
    lengths: NDArray[np.int64]

    @classmethod
    def of(cls, texts: Sequence[Sequence[str]]) -> Terms:
        """Make them of the terms of each text.

        >>> list(Terms.of([["b", "a", "b"], []]))
        [['b', 'a', 'b'], []]
        """
        import numpy as np

        numbering = Numbers[str]()
        lengths = np.fromiter(map(len, texts), np.int64, len(texts))
        numbers = numbering.of(chain.from_iterable(texts), int(lengths.sum()))
        return cls(numbering.new, numbers, lengths)

    def __iter__(self) -> Iterator[list[str]]:
        first = 0
        for length in self.lengths.tolist():
            of_text = self.numbers[first : first + length].tolist()
            yield list(map(self.names.__getitem__, of_text))
            first += length

    def only(self, mask: NDArray[np.bool_]) -> Terms:
        """Return those of the texts that are to be kept."""
        numbers = self.numbers[mask.repeat(self.lengths)]
        return replace(self, numbers=numbers, lengths=self.lengths[mask])


class WordTerms:
    """What an analyser makes of each word seen so far; several threads may ask at once."""

    def __init__(self, analyse: Callable[[str], Sequence[str]]) -> None:
        self._analyse = analyse
        self._lock = Lock()
        self._clear()

    def __call__(self, texts: Sequence[str]) -> Terms:
        """Return the texts' terms, as the analyser makes them."""
        import numpy as np

        words = list(map(self._split, texts))
        sizes = np.fromiter(map(len, words), np.int64, len(words))
        with self._lock:
            if len(self._words) > MAX_WORDS or self._bytes > MAX_BYTES or self._words.new:
                self._clear()  # `new` is left over where an error broke in
            word_numbers = self._words.of(chain.from_iterable(words), int(sizes.sum()))
            if self._words.new:
                self._learn(self._words.new)
            counts, numbers = self._terms_of(word_numbers)
            names = self._terms.new
        ends = np.append(0, counts.cumsum(dtype=np.int64))[sizes.cumsum()]
        return Terms(names, numbers, np.diff(ends, prepend=0))

    def _terms_of(self, words: NDArray[np.int32]) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """Return how many terms words have, and these.

        Both are copies: what is kept cannot grow while anybody looks at it.
        """
        import numpy as np

        firsts = np.frombuffer(self._firsts, np.int32)
        first = firsts[words]
        counts = firsts[words + 1] - first
        return counts, np.frombuffer(self._numbers, np.int32)[ranges(first, counts)]

    def _split(self, text: str) -> Sequence[bytes | str]:
        """Take a text apart into words, or at once into terms where that is not worth while."""
        data = text.encode("utf-8", "surrogatepass")
        if len(data) > _MOST_BYTES * len(text):
            return self._analyse(text)
        return data.translate(_APART).split()

    def _learn(self, words: list[bytes | str]) -> None:
        """Make terms of words; one that is no bytes is a term already."""
        analysed = [
            self._analyse(word.decode("utf-8", "surrogatepass"))
            if isinstance(word, bytes)
            else [word]
            for word in words
        ]
        for terms in analysed:
            self._firsts.append(self._firsts[-1] + len(terms))
        self._numbers.extend(map(self._terms.__getitem__, chain.from_iterable(analysed)))
        self._bytes += sum(map(len, words))
        self._words.new = []

    def _clear(self) -> None:
        self._words = Numbers[bytes | str]()
        self._terms = Numbers[str]()  # and all of them in `new`
        self._bytes = 0
        self._firsts = array("i", [0])  # of each word, where its terms begin below; and the end
        self._numbers = array("i")  # of the terms of each word
