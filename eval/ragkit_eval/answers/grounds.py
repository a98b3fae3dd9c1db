"""Groundedness: the share of an answer's sentences whose words the retrieved passages hold.

A screen, not a judge: meanings are not compared.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ragkit.answer.check.parsed_answer import parse_answer as parse_text
from ragkit.answer.check.support import coverage, has_content, judge_by_words
from ragkit.types import Span
from ragkit_eval.answers.evidence import evidence_of, missing
from ragkit_eval.answers.parsed_answer import parse_answer


@dataclass(frozen=True, slots=True)
class Groundedness:
    """The supported share of an answer's sentences, and the spans of unsupported ones."""

    score: float
    unsupported: tuple[Span, ...]


def groundedness(answer: Mapping[str, Any]) -> Groundedness:
    """Screen an answer's sentences against all passages that were retrieved for it.

    Whatever it cites, a sentence is supported if the passages together have its quotations, numbers
    and names, the numbers beside the nouns that they count, and three quarters of its content words
    (`ragkit.answer.check.support`). Sentences without content words do not count; an empty answer
    and a refusal score 0.0, so leave refusals out.

    Words are compared, not meanings: a true paraphrase, or a true sentence in a different language
    from its source, counts as unsupported, and a denial in the words of the source as supported. Of
    327 sentences that people wrote from a CLAPNQ passage, 97% are supported by it, and 0.6% by the
    most similar passage of another question: the flagged sentences are unsupported with precision
    0.97 and recall 0.99 if half of the sentences are. Of 118 sentences with an inserted denial it
    flags 1. docs/check-an-answer.md has the effect of changed numbers and names, also in Chinese.
    The tests repeat the measurement.

    Raises UsageError for malformed JSON of an answer.
    """
    parsed = parse_answer(answer)
    if parsed.refused:
        return Groundedness(0.0, ())
    source = evidence_of(parsed.passages)
    reading = parse_text(parsed.text, ())
    counted = [s for s in reading.sentences if has_content(reading.words_of(s))]
    unsupported = []
    for sentence in counted:
        lacking = missing(reading.plain[sentence.start : sentence.end], source)
        if judge_by_words(coverage(reading.words_of(sentence), [source]), lacking) != "supported":
            unsupported.append(Span(sentence.start, sentence.end))
    score = 1 - len(unsupported) / len(counted) if counted else 0.0
    return Groundedness(score, tuple(unsupported))
