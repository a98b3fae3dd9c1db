"""Groundedness: which sentences of an answer the retrieved passages hold, by their words.

A screen, not a judge: it knows no meanings.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ragkit.answer.reading import parse_answer
from ragkit.answer.support import coverage, has_content, judge_by_words
from ragkit.types import Span
from ragkit_eval.answers.evidence import evidence_of, missing
from ragkit_eval.answers.given import read_given


@dataclass(frozen=True, slots=True)
class Groundedness:
    """The share of an answer's sentences that are held, and where the others stand in it."""

    score: float
    unsupported: tuple[Span, ...]


def groundedness(answer: Mapping[str, Any]) -> Groundedness:
    """Screen an answer's sentences against all passages that were retrieved for it.

    Whatever a sentence cites, it is held when the passages together have its quotations, numbers
    and names, the numbers beside what they are said of, and three quarters of its content words
    (`ragkit.answer.support`). Sentences without content words do not count; an answer that says
    nothing, a refusal too, scores 0.0, so leave refusals out.

    Compared are words, not meanings: a true sentence in other words, or in another language than
    its source, is taken for unsupported, and a denial in the source's own words for supported. Of
    327 sentences that people wrote from a CLAPNQ passage, 97% are held by it, and 0.6% by the most
    similar passage of another question: what it flags is unsupported with precision 0.97 and recall
    0.99 where half the sentences are. Of 118 with a denial put in it flags 1. What a changed number
    or name does, in Chinese too, is in docs/check-an-answer.md. The tests repeat the measurement.

    Raises UsageError for JSON that is no such answer.
    """
    given = read_given(answer)
    if given.refused:
        return Groundedness(0.0, ())
    source = evidence_of(given.passages)
    reading = parse_answer(given.text, ())
    counted = [s for s in reading.sentences if has_content(reading.words_of(s))]
    unsupported = []
    for sentence in counted:
        lacking = missing(reading.plain[sentence.start : sentence.end], source)
        if judge_by_words(coverage(reading.words_of(sentence), [source]), lacking) != "supported":
            unsupported.append(Span(sentence.start, sentence.end))
    score = 1 - len(unsupported) / len(counted) if counted else 0.0
    return Groundedness(score, tuple(unsupported))
