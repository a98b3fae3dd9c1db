"""Tries to answer a question without a language model: as it stands, or with the previous one.

A try is an answer's pieces, held back until it is known whether it counts.
`ragkit.conversation.follow_up` decides which tries are made.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from ragkit.knowledge.base import PASSAGES
from ragkit.question.naming_words import naming_terms
from ragkit.question.reading import has_cjk, read_question
from ragkit.question.rewrite import STANDS_ALONE, Standalone
from ragkit.question.standalone import opens_as_follow_up
from ragkit.text.analyse import analyse
from ragkit.types import Answer, Reasoning

if TYPE_CHECKING:
    from ragkit.knowledge.base import KnowledgeBase
    from ragkit.types import Hit, Turn

Piece = str | Reasoning | Answer
WITH_WORDS: Final = "with words of the question before"
REFUSED_ALONE: Final = f"{WITH_WORDS}: nothing answers it as it stands"
NO_WORDS: Final = "as asked: the question before has no other words"
LOST: Final = f"as asked: {WITH_WORDS} its own are lost"


@dataclass(frozen=True, slots=True)
class Tries:
    """Tries at a question over a knowledge base that reports no hits.

    `previous` is the previous turn with its query in the question's place; `cited` are the passages
    that its answer cites.
    """

    kb: KnowledgeBase
    question: str
    previous: Turn
    cited: Sequence[Hit] = ()

    def alone_first(self, query: str) -> tuple[Standalone, list[Piece]]:
        """Answer the question as it stands; by `query` where that is refused and `query` is not.

        Words of another language do not count for a refused question.
        """
        alone = list(self.kb.stream(self.question))
        if query == self.question or self._changes_language() or not answer_of(alone).refused:
            return Standalone(self.question, STANDS_ALONE), alone
        second = self._with(query, question=self.question)
        if answer_of(second).refused:
            return Standalone(self.question, STANDS_ALONE), alone
        return Standalone(query, REFUSED_ALONE), _later(second, alone)

    def as_follow_up(self, query: str) -> tuple[Standalone, list[Piece]]:
        """Answer by `query`, the question with words of the previous one.

        Where these displace its own words, so that no hit has any, the question is taken as it
        stands: if only a pronoun marks it as a follow-up, or if the previous question is in another
        language and the answer to `query` has none of its words.
        """
        if query == self.question:
            return Standalone(query, NO_WORDS), self._with(query, question=query)
        if not opens_as_follow_up(self.question) and self._are_lost(
            self.kb.retriever().search(query, k=PASSAGES)
        ):
            return Standalone(self.question, LOST), list(self.kb.stream(self.question))
        pieces = self._by_all_or_question(query)
        answer = answer_of(pieces)
        if self._changes_language() and naming_terms(self.question) and not self._is_about(answer):
            alone = list(self.kb.stream(self.question))
            if answer.refused or not answer_of(alone).refused:
                return Standalone(self.question, LOST), _later(alone, pieces)
        return Standalone(query, WITH_WORDS), pieces

    def _by_all_or_question(self, query: str) -> list[Piece]:
        """Choose sentences by the query or, where that fails, by the question's words.

        The question's words alone hardly identify the sentence. But an answer by all words may
        repeat that to the previous question.
        """
        pieces = self._with(query, question=query)
        if not read_question(self.question).content or self._is_about(answer_of(pieces)):
            return pieces
        return _later(self._with(query, question=self.question), pieces)

    def _with(self, query: str, *, question: str) -> list[Piece]:
        return list(
            self.kb.stream(question, query=query, history=[self.previous], candidates=self.cited)
        )

    def _changes_language(self) -> bool:
        return has_cjk(self.question) != has_cjk(self.previous.question)

    def _are_lost(self, hits: Sequence[Hit]) -> bool:
        terms = naming_terms(self.question)
        return bool(terms) and not any(terms.intersection(analyse(hit.text)) for hit in hits)

    def _is_about(self, answer: Answer) -> bool:
        """Tell whether an answer cites a passage with a word of the question.

        The sentence that the last answer quoted needs such a word itself: a passage of a short
        document has the words of every question about it. A question that names nothing accepts any
        other answer.
        """
        if answer.refused:
            return False
        terms = naming_terms(self.question)
        if _repeats(answer, self.previous.answer):
            terms = terms or read_question(self.question).content
            return bool(terms.intersection(analyse(answer.citations[0].quote)))
        return not terms or any(terms.intersection(analyse(hit.text)) for hit in _cited_by(answer))


def answer_of(pieces: Sequence[Piece]) -> Answer:
    """Return the answer that a try ends with."""
    last = pieces[-1]
    assert isinstance(last, Answer), "a stream ends with an Answer"
    return last


def _repeats(answer: Answer, text: str) -> bool:
    """Tell whether a text has the sentence that an answer quotes first, its best."""
    flat = " ".join(text.split())
    return any(" ".join(citation.quote.split()) in flat for citation in answer.citations[:1])


def _cited_by(answer: Answer) -> list[Hit]:
    return [
        hit
        for citation in answer.citations
        for hit in answer.hits
        if hit.document == citation.document and hit.start <= citation.start < hit.end
    ]


def _later(pieces: Sequence[Piece], earlier: Sequence[Piece]) -> list[Piece]:
    """Return a second try's pieces, with the seconds of both tries in its answer."""
    *text, _ = pieces
    answer, spent = answer_of(pieces), dict(answer_of(earlier).timings)
    for stage, seconds in answer.timings.items():
        spent[stage] = spent.get(stage, 0.0) + seconds
    return [*text, replace(answer, timings=spent)]
