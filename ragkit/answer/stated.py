"""A sentence as it is compared with others: its terms, numbers, names, clauses and denials.

Everything is made when it is first needed. It knows nothing of what is compared, or how.
"""

import re
from functools import cached_property

from ragkit.answer.denial import denials
from ragkit.answer.names import NameSet, names
from ragkit.answer.numerals import values
from ragkit.answer.question import FUNCTION_WORDS, says_nothing
from ragkit.text.analyse import CJK, analyse, stem_english, units

_FUNCTION = re.compile(FUNCTION_WORDS, re.IGNORECASE)
_CLAUSE = re.compile(
    r"[,;:，；：、]|\b(?:and|but|while|because|although|since|so that|which|who|if|when|where)\b"
    r"|而且|但是?|不[过過]|因[为為]|所以|[并並]且",
)
_CONTENT = re.compile(rf"[{CJK}]|[^\W_{CJK}]+")
_LEAST_CLAUSE = 2  # words or characters of content; less is a list's item or a particle


class Stated:
    """A sentence, prepared."""

    def __init__(self, text: str) -> None:
        self.text = text

    @cached_property
    def terms(self) -> frozenset[str]:
        """The analyser's terms."""
        return frozenset(analyse(self.text))

    @cached_property
    def units(self) -> tuple[str, ...]:
        """The words and characters that say something, in order."""
        listed = units(_FUNCTION.sub(" ", self.text), stem_english)
        return tuple(unit for unit in listed if unit and not says_nothing(unit))

    @cached_property
    def values(self) -> frozenset[str]:
        """The values of the numbers, also of those in words."""
        return values(self.text)

    @cached_property
    def named(self) -> tuple[str, ...]:
        """The words that are names by their spelling."""
        return tuple(self.text[span.start : span.end] for span in names(self.text))

    @cached_property
    def names(self) -> NameSet:
        """All words, by which another sentence's names are looked up."""
        return NameSet.of([self.text])

    @cached_property
    def denials(self) -> int:
        """How many words of denial there are."""
        return denials(self.text)

    @cached_property
    def clauses(self) -> "tuple[Stated, ...]":
        """The clauses that say anything; the sentence itself where none does."""
        parts = (part.strip() for part in _CLAUSE.split(self.text))
        clauses = tuple(Stated(part) for part in parts if analyse(part))
        return clauses if len(clauses) > 1 else (self,)

    @property
    def is_short(self) -> bool:
        """Whether it is too short for its words to be compared on their own."""
        return len(_CONTENT.findall(_FUNCTION.sub(" ", self.text))) < _LEAST_CLAUSE
