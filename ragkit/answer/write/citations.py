"""Make citations of an answer's markers: choose the words of the passage that support a sentence.

The choice goes by words alone; `ragkit.answer.check.verify` checks the quotation and the sentence.
"""

import math
from bisect import bisect_right
from collections import Counter
from collections.abc import Sequence
from functools import cached_property

from ragkit.answer.check.quotations import Folded, find_quotations, fold, locate
from ragkit.text.analyse import analyse
from ragkit.text.markers import split_statements, without_markers
from ragkit.text.places import headings_at
from ragkit.text.sentences import sentences
from ragkit.types import Citation, Hit, Span


def cite(text: str, used: Sequence[Hit]) -> tuple[Citation, ...]:
    """Make the citations of an answer in which `[n]` means `used[n - 1]`, in order, each once.

    A quotation within the sentence is the citation's quotation; a sentence without one gets the
    passage's sentence that shares most with it, or the entire passage where they share no term, as
    between languages. A number without a passage makes no citation.
    """
    blank = without_markers(text)
    quoted = find_quotations(blank)
    ends = [span.end for span in quoted]
    prepared: dict[int, _Passage] = {}
    citations: dict[Citation, None] = {}
    for statement in split_statements(text):
        first, last = bisect_right(ends, statement.start), bisect_right(ends, statement.end)
        quotes = [blank[span.start : span.end] for span in quoted[first:last]]
        for n in statement.cites:
            if 1 <= n <= len(used):
                passage = prepared.get(n) or prepared.setdefault(n, _Passage(used[n - 1].text))
                spans = [span for quote in quotes if (span := locate(quote, passage.folded))]
                spans = spans or [passage.supporting(blank[statement.start : statement.end])]
                citations.update(dict.fromkeys(_citation(n, used[n - 1], span) for span in spans))
    return tuple(citations)


class _Passage:
    """A passage prepared for many comparisons."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._span = Span(0, len(text))
        self._spans = sentences(text)
        self._terms = [frozenset(analyse(text[span.start : span.end])) for span in self._spans]
        frequency = Counter(term for terms in self._terms for term in terms)
        self._idf = {term: math.log(1 + len(self._spans) / n) for term, n in frequency.items()}

    @cached_property
    def folded(self) -> Folded:
        """The text in comparable form, for locating quotations; few answers have any."""
        return fold(self._text)

    def supporting(self, claim: str) -> Span:
        """Choose the sentence nearest to a claim, or the entire passage when none is.

        The measure is Dice's coefficient over distinct terms, each weighted by its idf among the
        passage's sentences: 2 w(A∩B) / (w(A) + w(B)). The earlier sentence wins a tie.
        """
        claimed = frozenset(analyse(claim))
        best, score = self._span, 0.0
        for span, terms in zip(self._spans, self._terms, strict=True):
            shared = 2 * self._weight(claimed & terms)
            if shared and (dice := shared / (self._weight(claimed) + self._weight(terms))) > score:
                best, score = span, dice
        return best

    def _weight(self, terms: frozenset[str]) -> float:
        """Sum the idf; a term that the passage lacks weighs as one of all its sentences."""
        return math.fsum(self._idf.get(term, math.log(2)) for term in terms)


def _citation(n: int, hit: Hit, span: Span) -> Citation:
    return Citation(
        n=n,
        document=hit.document,
        uri=hit.uri,
        title=hit.title,
        page=hit.page,
        start=hit.start + span.start,
        end=hit.start + span.end,
        quote=hit.text[span.start : span.end],
        version=hit.version,
        headings=headings_at(hit, hit.start + span.start),
    )
