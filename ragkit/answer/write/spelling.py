"""Read a misspelt word of a question as the word of the passages that it is one slip away from.

It has no dictionary: a word that some passage has is right, and one that is like none stays.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from ragkit.answer.refuse.question_coverage import text_with_context
from ragkit.question.reading import read_question
from ragkit.text.analyse import analyse
from ragkit.types import Hit

LEAST_LETTERS: Final = 5  # of a word; arbitrary: a slip makes one short word into another
_LEAST_CHANGED: Final = 8  # letters, where a letter is another or of no pair; arbitrary
_WORD: Final = re.compile(r"(?<![^\W_])[a-z]++(?![^\W_])", re.IGNORECASE)
# Words that ask: a slip in one hides what is asked for. They may be short, as in "hwo much".
_ASKING: Final = ("how", "what", "when", "where", "which", "much", "many")


def respell(question: str, passages: Sequence[Hit]) -> str:
    """Return a question with the passages' spelling of its misspelt words.

    A slip is two letters that changed places, a letter doubled or not, and in a long word a letter
    too many, too few, or wrong; never the first one. A capital letter marks a name, which stays.

    >>> text = "A cappuccino is 3 euros."
    >>> respell("hwo much is a capuccino?", [Hit(1, 1, "", "", None, 0, len(text), text, 1.0)])
    'how much is a cappuccino?'
    """
    text = "\n".join(map(text_with_context, passages))
    terms = frozenset(analyse(text))
    absent = read_question(question).words - terms
    if not absent:
        return question
    words = sorted({word.lower() for word in _WORD.findall(text) if len(word) >= LEAST_LETTERS})

    def spelt(match: re.Match[str]) -> str:
        word = match[0].lower()
        is_name = match.start() > 0 and word != match[0]
        if is_name or absent.isdisjoint(analyse(word)):
            return match[0]
        near = [asking for asking in _ASKING if _are_swapped(word, asking)]
        near = near or [known for known in words if _is_near(word, known)]
        return (
            near[0] if len({term for known in near for term in analyse(known)}) == 1 else match[0]
        )

    return _WORD.sub(spelt, question)


def _is_near(word: str, known: str) -> bool:
    """Tell whether a word of enough letters is one slip from a known one."""
    short, long = sorted((word, known), key=len)
    if len(short) < LEAST_LETTERS or word[0] != known[0] or len(long) - len(short) > 1:
        return False
    is_long = len(short) >= _LEAST_CHANGED
    if len(short) == len(long):
        return _are_swapped(word, known) or (is_long and _differing(word, known) == 1)
    at = next((i for i, letter in enumerate(short) if letter != long[i]), len(short))
    return short[at:] == long[at + 1 :] and (is_long or long[at] == long[at - 1])


def _are_swapped(word: str, known: str) -> bool:
    """Tell whether two neighbouring letters changed places."""
    if len(word) != len(known) or _differing(word, known) != 2:
        return False
    first = next(i for i, letter in enumerate(word) if letter != known[i])
    return word[first : first + 2] == known[first : first + 2][::-1]


def _differing(word: str, known: str) -> int:
    return sum(a != b for a, b in zip(word, known, strict=True))
