"""A sentence prepared for comparison: its terms, numbers, names, clauses and denials."""

import re
from functools import cached_property

from ragkit.answer.check.names import NameSet, find_names
from ragkit.answer.check.numbers import number_values
from ragkit.question.reading import FUNCTION_WORDS, is_function_character
from ragkit.text.analyse import CJK, analyse, stem_english, units

_FUNCTION = re.compile(FUNCTION_WORDS, re.IGNORECASE)
_CLAUSE = re.compile(
    r"[,;:，；：、]|\b(?:and|but|while|because|although|since|so that|which|who|if|when|where)\b"
    r"|而且|但是?|不[过過]|因[为為]|所以|[并並]且",
)
_CONTENT = re.compile(rf"[{CJK}]|[^\W_{CJK}]+")
_LEAST_CLAUSE = 2  # words or characters of content; fewer are a list's item or a particle
_DENIAL = re.compile(
    # Words with a character of denial that deny nothing come first, so that they are skipped.
    r"(?P<plain>不[仅僅但過过同少断斷久論论管只满滿]|不得不|非[常洲]|未[来來]|[无無][论論线線]|别墅|別墅"
    r"|[分特个個级級性区區名类類识識差][别別]|免得)"
    r"|\b(?:not|never|no|none|nobody|nothing|neither|nor|without|cannot|forbidden|banned|prohibited"
    r"|excluded|refused?|denied|unable|fail(?:s|ed)?|lacks?|barred|rejected)\b"
    r"|n['’]t\b"
    r"|[不没沒未无無勿禁免拒]|[并並]非|非(?=[是由])|[别別](?=[让讓把用])",
    re.IGNORECASE,
)


class PreparedSentence:
    """A sentence whose features are computed at their first use."""

    def __init__(self, text: str) -> None:
        self.text = text

    @cached_property
    def terms(self) -> frozenset[str]:
        """The analyser's terms."""
        return frozenset(analyse(self.text))

    @cached_property
    def units(self) -> tuple[str, ...]:
        """The content words and characters, in order."""
        listed = units(_FUNCTION.sub(" ", self.text), stem_english)
        return tuple(unit for unit in listed if unit and not is_function_character(unit))

    @cached_property
    def values(self) -> frozenset[str]:
        """The values of the numbers, in digits or in words."""
        return number_values(self.text)

    @cached_property
    def name_words(self) -> tuple[str, ...]:
        """The words that are names by their spelling."""
        return tuple(self.text[span.start : span.end] for span in find_names(self.text))

    @cached_property
    def names(self) -> NameSet:
        """All words, for looking up another sentence's names."""
        return NameSet.of([self.text])

    @cached_property
    def denials(self) -> int:
        """The number of words of denial."""
        return count_denials(self.text)

    @cached_property
    def clauses(self) -> "tuple[PreparedSentence, ...]":
        """The clauses with terms; the sentence itself where there is only one."""
        parts = (part.strip() for part in _CLAUSE.split(self.text))
        clauses = tuple(PreparedSentence(part) for part in parts if analyse(part))
        return clauses if len(clauses) > 1 else (self,)

    @property
    def is_short(self) -> bool:
        """Whether it has too few words to be compared on its own."""
        return len(_CONTENT.findall(_FUNCTION.sub(" ", self.text))) < _LEAST_CLAUSE


def count_denials(text: str) -> int:
    """Count the words that deny or forbid something, in English and Chinese.

    Neither what is denied nor opposites such as open and shut are considered.

    >>> [count_denials(text) for text in ("It may not be used, never.", "不仅如此，不得转租。")]
    [2, 1]
    """
    return sum(match["plain"] is None for match in _DENIAL.finditer(text))
