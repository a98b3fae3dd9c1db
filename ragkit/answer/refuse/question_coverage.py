"""How much of a question its passages cover, by words, and by characters in Chinese.

A word of an alphabetic script counts by its idf in the collection. A CJK character counts fully
where the passage has its pair with a neighbour in the question, and half where it stands there
without: a pair may straddle two words, so that its absence proves little.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from ragkit.question.reading import (
    Question,
    distinct_terms,
    is_function_character,
    language_of,
)
from ragkit.text.analyse import CJK, analyse, comparable, in_pairs
from ragkit.text.variants import fold_variants
from ragkit.types import Hit

ALONE = 0.5  # credit of a character without its neighbours
CHARACTERS_PER_WORD = 2  # most Chinese words have two characters
MAX_NAMED = 4  # missing words named in a reason
_WEEK = ("星期", "礼拜")  # other names of 周
_NAMED_CHARS = range(2, 13)  # of Chinese; arbitrary: a longer stretch is hardly a name

_WORD = re.compile(rf"[^\W_{CJK}]+(?:[-'’][^\W_{CJK}]+)*")
# A verb of naming at the end of a stretch, as in 总裁叫什么; 百姓 and 尖叫 are nouns.
_NAMING_VERB = re.compile("(?:(?<![大尖鸣鳴喊])叫|(?<!百)姓)$")


@dataclass(frozen=True, slots=True)
class QuestionCoverage:
    """The best share of a question in one passage, 0 to 1 by weight, and the number of words."""

    share: float
    words: float


def text_with_context(hit: Hit) -> str:
    """Return a passage's text with its table's head row, its headings and its title."""
    return "\n".join((hit.text, hit.lead, *hit.headings, hit.title))


def best_coverage(
    question: Question, passages: Sequence[Hit], weights: Mapping[str, float]
) -> QuestionCoverage | None:
    """Return the best coverage of a question by a passage; None for a question without content.

    `weights` has the idf of the question's content terms.
    """
    per_character = max(weights.values(), default=1.0) / CHARACTERS_PER_WORD
    characters = sum(not is_function_character(character) for character in "".join(question.runs))
    total = math.fsum(weights[word] for word in question.words) + per_character * characters
    if not total:
        return None
    share = words = 0.0
    for hit in passages:
        text = text_with_context(hit)
        present = distinct_terms(text)
        credit = math.fsum(_credits(question, present, text))
        mass = math.fsum(weights[word] for word in question.words & present)
        share = max(share, (mass + per_character * credit) / total)
        words = max(words, len(question.words & present) + credit / CHARACTERS_PER_WORD)
    return QuestionCoverage(share, words)


def missing_words(
    question: Question, passages: Sequence[Hit], weights: Mapping[str, float]
) -> list[str]:
    """Name the rarest words of a question that no passage has, as written and in its order.

    Passages in another language have none of its words whatever they say: nothing is named.
    """
    texts = [text_with_context(hit) for hit in passages]
    language = language_of(question.text)
    if texts and all(language_of(text) != language for text in texts):
        return []
    present = distinct_terms("\n".join(texts))
    runs = _missing_runs(question, present)
    weight_of = {_as_written(run, question.text): math.inf for run in runs}
    for word in _WORD.findall(question.text):
        absent = [term for term in analyse(word) if term in question.words - present]
        if absent:
            weight_of.setdefault(word, max(weights[term] for term in absent))
    rarest = sorted(weight_of, key=lambda word: -weight_of[word])[:MAX_NAMED]
    return sorted(rarest, key=question.text.find)


def _missing_runs(question: Question, present: Collection[str]) -> Iterator[str]:
    """Find stretches of Chinese without a pair among the terms, cut at function characters."""
    for run in question.runs:
        stretch = ""
        for character, in_pair in zip(run, in_pairs(run, present), strict=True):
            if not in_pair and not is_function_character(character):
                stretch += character
                continue
            yield from _likely_name(stretch)
            stretch = ""
        yield from _likely_name(stretch)


def _likely_name(stretch: str) -> Iterator[str]:
    """Yield a stretch without its verb of naming, if it is as long as a name may be."""
    noun = _NAMING_VERB.sub("", stretch)
    if len(noun) in _NAMED_CHARS:
        yield noun


def _as_written(run: str, text: str) -> str:
    """Return a stretch of folded characters as the text has it; folding moves none of them.

    A day of the week may stand there by another of its names.
    """
    folded = fold_variants(text)
    days = [
        ("周", "周"),
        *(pair for name in _WEEK for pair in (("周", name), ("周日", f"{name}天"))),
    ]
    for day, name in days:
        written = run.replace(day, name)
        start = folded.find(written)
        if start >= 0:
            return text[start : start + len(written)]
    return run


def _credits(question: Question, present: Collection[str], text: str) -> Iterator[float]:
    """Yield the credit of each content character of a question in a passage."""
    if not question.runs:
        return
    folded = comparable(text)
    for run in question.runs:
        for character, in_pair in zip(run, in_pairs(run, present), strict=True):
            if is_function_character(character):
                continue
            if in_pair:
                yield 1.0
            elif character in folded:
                yield ALONE
