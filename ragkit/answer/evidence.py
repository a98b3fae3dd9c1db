"""How much of a question its passages hold, by words, and by characters where it is Chinese.

A word of an alphabetic script counts by its idf in the collection. A CJK character counts whole
in a pair with its neighbour in the question, and half where it stands there alone: a pair may
straddle two words, so that its absence says little.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from ragkit.answer.question import Question, says_nothing, terms
from ragkit.text.analyse import CJK, analyse, comparable, in_pairs
from ragkit.text.variants import fold_variants
from ragkit.types import Hit

ALONE = 0.5  # of a character whose neighbours are not beside it
CHARACTERS_PER_WORD = 2  # most Chinese words have two characters
MAX_NAMED = 4  # missing words named in a reason
_NAMED_CHARS = range(2, 13)  # of Chinese; arbitrary: a longer stretch is no name of anything

_WORD = re.compile(rf"[^\W_{CJK}]+(?:[-'’][^\W_{CJK}]+)*")
# A verb of naming at the end of a stretch, as in 总裁叫什么; 百姓 and 尖叫 are nouns.
_NAMING_VERB = re.compile("(?:(?<![大尖鸣鳴喊])叫|(?<!百)姓)$")


@dataclass(frozen=True, slots=True)
class Held:
    """What passages hold of a question: the best share by weight, 0 to 1, and number of words."""

    share: float
    words: float


def shown(hit: Hit) -> str:
    """Return a passage's text with what stands over it: its table's head row, headings, title."""
    return "\n".join((hit.text, hit.lead, *hit.headings, hit.title))


def most_held(
    question: Question, passages: Sequence[Hit], weights: Mapping[str, float]
) -> Held | None:
    """Return the most that a passage holds of a question; None where it asks for nothing.

    `weights` has the idf of the question's content terms.
    """
    per_character = max(weights.values(), default=1.0) / CHARACTERS_PER_WORD
    characters = sum(not says_nothing(character) for character in "".join(question.runs))
    whole = math.fsum(weights[word] for word in question.words) + per_character * characters
    if not whole:
        return None
    share = words = 0.0
    for hit in passages:
        text = shown(hit)
        known = terms(text)
        credit = math.fsum(_credits(question, known, text))
        mass = math.fsum(weights[word] for word in question.words & known)
        share = max(share, (mass + per_character * credit) / whole)
        words = max(words, len(question.words & known) + credit / CHARACTERS_PER_WORD)
    return Held(share, words)


def missing_words(
    question: Question, passages: Sequence[Hit], weights: Mapping[str, float]
) -> list[str]:
    """Name the rarest words of a question that no passage has, as it writes them, in its order."""
    text = "\n".join(map(shown, passages))
    known = terms(text)
    runs = _missing_runs(question, known)
    weight_of = {_as_written(run, question.text): math.inf for run in runs}
    for word in _WORD.findall(question.text):
        absent = [term for term in analyse(word) if term in question.words - known]
        if absent:
            weight_of.setdefault(word, max(weights[term] for term in absent))
    rarest = sorted(weight_of, key=lambda word: -weight_of[word])[:MAX_NAMED]
    return sorted(rarest, key=question.text.find)


def _missing_runs(question: Question, known: Collection[str]) -> Iterator[str]:
    """Find stretches of Chinese of which no pair is known, cut where only grammar stands."""
    for run in question.runs:
        stretch = ""
        for character, held in zip(run, in_pairs(run, known), strict=True):
            if not held and not says_nothing(character):
                stretch += character
                continue
            yield from _named(stretch)
            stretch = ""
        yield from _named(stretch)


def _named(stretch: str) -> Iterator[str]:
    """Yield a stretch without its verb of naming, where it is as long as a name may be."""
    noun = _NAMING_VERB.sub("", stretch)
    if len(noun) in _NAMED_CHARS:
        yield noun


def _as_written(run: str, text: str) -> str:
    """Return a stretch of folded characters as a text has it; folding moves none of them."""
    start = fold_variants(text).find(run)
    return run if start < 0 else text[start : start + len(run)]


def _credits(question: Question, known: Collection[str], text: str) -> Iterator[float]:
    """Yield what each character of a question that says something counts in a passage."""
    if not question.runs:
        return
    folded = comparable(text)
    for run in question.runs:
        for character, held in zip(run, in_pairs(run, known), strict=True):
            if says_nothing(character):
                continue
            if held:
                yield 1.0
            elif character in folded:
                yield ALONE
