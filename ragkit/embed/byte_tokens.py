"""Count a text's tokens without its tokenizer: never fewer than the model reads, often many more.

A vocabulary may have none but single bytes, so each byte of a character counts as a token.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final
from unicodedata import normalize

from ragkit.embed.tokens import TokenSpans, storable

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

# Special tokens, and the space that some tokenizers put before a text; models add one to three.
SPECIAL: Final = 8
_ASCII: Final = 128


def byte_spans(text: str) -> TokenSpans:
    """Return a span for each byte of a character: as many for it as it has bytes in UTF-8.

    The bytes of its NFKC form count where these are more, as most tokenizers make that first. A
    space before an ASCII letter or digit, or at the end, counts with what is beside it: all
    vocabularies with spaces have the two together.

    >>> [(span.start, span.end) for span in byte_spans("an 航")]
    [(0, 1), (1, 2), (2, 3), (3, 4), (3, 4), (3, 4)]
    """
    import numpy as np

    codes = np.frombuffer(storable(text).encode("utf-32-le"), np.uint32)
    counts = np.ones(len(codes), np.int64)
    if len(codes):
        counts[(codes == ord(" ")) & _before_word(codes)] = 0
        outside = codes >= _ASCII
        characters, places = np.unique(codes[outside], return_inverse=True)
        sizes = np.fromiter((_bytes(chr(code)) for code in characters), np.int64, len(characters))
        counts[outside] = sizes[places]
    starts = np.repeat(np.arange(len(codes), dtype=np.int64), counts)
    return TokenSpans(starts, starts + 1, np.zeros(len(starts), np.int32))


def _before_word(codes: NDArray[np.uint32]) -> NDArray[np.bool_]:
    """Tell of each character whether an ASCII letter, a digit or the text's end comes next."""
    import numpy as np

    word = np.zeros(_ASCII, np.bool_)
    word[[code for code in range(_ASCII) if chr(code).isalnum()]] = True
    following = np.append(codes[1:], ord("a"))
    before: NDArray[np.bool_] = word[np.minimum(following, _ASCII - 1)]
    return before


def _bytes(character: str) -> int:
    return max(len(form.encode()) for form in (character, normalize("NFKC", character)))
