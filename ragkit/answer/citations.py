"""From an answer's markers to citations: which words of the cited passage support a sentence.

The choice is made by the words alone. Whether the quotation still stands in the stored document,
and whether the answer says what it says, is for `ragkit.answer.verify`.
"""

import math
from bisect import bisect_right
from collections import Counter
from collections.abc import Sequence
from functools import cached_property

from ragkit.answer.markers import statements, without_markers
from ragkit.answer.quotations import Folded, fold, locate, quotations
from ragkit.text.analyse import analyse
from ragkit.text.headings import headings_at
from ragkit.text.sentences import sentences
from ragkit.types import Citation, Hit, Span


def cite(text: str, used: Sequence[Hit]) -> tuple[Citation, ...]:
    """Make the citations of an answer in which `[n]` means `used[n - 1]`, in order, each once.

    What a sentence quotes from the passage is the citation's quotation; a sentence without such
    a quotation gets the passage's sentence that shares most with it, and the whole passage when
    they share no term, as between languages. A number without a passage makes no citation.
    """
    blank = without_markers(text)
    quoted = quotations(blank)
    ends = [span.end for span in quoted]
    prepared: dict[int, _Passage] = {}
    found: dict[Citation, None] = {}
    for statement in statements(text):
        first, last = bisect_right(ends, statement.start), bisect_right(ends, statement.end)
        quotes = [blank[span.start : span.end] for span in quoted[first:last]]
        for n in statement.cites:
            if 1 <= n <= len(used):
                passage = prepared.get(n) or prepared.setdefault(n, _Passage(used[n - 1].text))
                spans = [span for quote in quotes if (span := locate(quote, passage.folded))]
                spans = spans or [passage.supporting(blank[statement.start : statement.end])]
                found.update(dict.fromkeys(_citation(n, used[n - 1], span) for span in spans))
    return tuple(found)


class _Passage:
    """A passage made ready for many comparisons."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._whole = Span(0, len(text))
        self._spans = sentences(text)
        self._terms = [frozenset(analyse(text[span.start : span.end])) for span in self._spans]
        frequency = Counter(term for terms in self._terms for term in terms)
        self._idf = {term: math.log(1 + len(self._spans) / n) for term, n in frequency.items()}

    @cached_property
    def folded(self) -> Folded:
        """The text as quotations are looked for in it; few answers have any."""
        return fold(self._text)

    def supporting(self, claim: str) -> Span:
        """Choose the sentence nearest to a claim, or the whole passage when none is.

        The measure is Dice's coefficient over distinct terms, each weighted by its idf among the
        passage's sentences: 2 w(A∩B) / (w(A) + w(B)). The earlier sentence wins a tie.
        """
        wanted = frozenset(analyse(claim))
        best, score = self._whole, 0.0
        for span, terms in zip(self._spans, self._terms, strict=True):
            shared = 2 * self._weight(wanted & terms)
            if shared and (dice := shared / (self._weight(wanted) + self._weight(terms))) > score:
                best, score = span, dice
        return best

    def _weight(self, terms: frozenset[str]) -> float:
        """Add up idf; a term that the passage lacks weighs as one that all its sentences have."""
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
