"""How many tokens a text is, estimated without any tokenizer. It knows nothing of models."""

from __future__ import annotations

import re
from unicodedata import normalize

from ragkit.text.analyse import CJK

_ONE_TOKEN = re.compile(rf"[\d{CJK}\u3000-\u303f\uff00-\uffef]")


def estimate_tokens(text: str) -> int:
    """Estimate a text's tokens without its tokenizer, rather too many than too few.

    One per digit and per Chinese, Japanese or Korean character, one per three others: a cautious
    rule of thumb, so that the budget holds whatever model is asked.

    >>> estimate_tokens("航空 abcdef")
    5
    """
    single = len(_ONE_TOKEN.findall(text))
    return single + -(-(len(text) - single) // 3)


def most_tokens(text: str) -> int:
    """Return a number of tokens that a text does not exceed, whatever the vocabulary.

    One for each byte, of its NFKC form where that has more, as some tokenizers make it first; and
    one for the space that some put before a text.

    >>> most_tokens("航空 ab"), most_tokens("½")
    (10, 6)
    """
    size = len(text.encode("utf-8", "replace"))
    if not text.isascii():
        size = max(size, len(normalize("NFKC", text).encode("utf-8", "replace")))
    return size + 1
