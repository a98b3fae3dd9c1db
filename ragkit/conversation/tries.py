"""Tries to answer a question without a language model: as it stands, or with the one before.

A try is an answer's pieces, held back until it is known whether it counts. Which tries are due is
`ragkit.conversation.follow_up`'s to say.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from ragkit.answer.question import has_cjk, read_question
from ragkit.conversation.alone import opens_so
from ragkit.conversation.rewrite import STANDS_ALONE, Standalone
from ragkit.conversation.vague import naming_terms
from ragkit.knowledge import PASSAGES
from ragkit.text.analyse import analyse
from ragkit.types import Answer, Reasoning

if TYPE_CHECKING:
    from ragkit.knowledge import KnowledgeBase
    from ragkit.types import Hit, Turn

Piece = str | Reasoning | Answer
WITH_WORDS: Final = "with words of the question before"
REFUSED_ALONE: Final = f"{WITH_WORDS}: nothing answers it as it stands"
NO_WORDS: Final = "as asked: the question before has no other words"
LOST: Final = f"as asked: {WITH_WORDS} its own are lost"


@dataclass(frozen=True, slots=True)
class Tries:
    """Tries at a question over a knowledge base that shows nobody what it found.

    `before` is the question before as it was searched for, with its answer; `cited` are the
    passages that the answer cites.
    """

    kb: KnowledgeBase
    question: str
    before: Turn
    cited: Sequence[Hit] = ()

    def alone_first(self, query: str) -> tuple[Standalone, list[Piece]]:
        """Answer the question as it stands; by `query` where that is refused and `query` is not.

        Words of another language say nothing of what a refused question asks for.
        """
        alone = list(self.kb.stream(self.question))
        if query == self.question or self._changes_language() or not answer_of(alone).refused:
            return Standalone(self.question, STANDS_ALONE), alone
        second = self._with(query, asked=self.question)
        if answer_of(second).refused:
            return Standalone(self.question, STANDS_ALONE), alone
        return Standalone(query, REFUSED_ALONE), _later(second, alone)

    def as_follow_up(self, query: str) -> tuple[Standalone, list[Piece]]:
        """Answer by `query`, the question with words of the one before.

        Where these displace its own, so that nothing that is found has any, it is taken as it
        stands after all: if only a pronoun told of a follow-up, or if the one before is in another
        language and what answers `query` has none of its own.
        """
        if query == self.question:
            return Standalone(query, NO_WORDS), self._with(query, asked=query)
        if not opens_so(self.question) and self._are_lost(
            self.kb.retriever().search(query, k=PASSAGES)
        ):
            return Standalone(self.question, LOST), list(self.kb.stream(self.question))
        pieces = self._by_all_or_own(query)
        answer = answer_of(pieces)
        if self._changes_language() and naming_terms(self.question) and not self._is_about(answer):
            alone = list(self.kb.stream(self.question))
            if answer.refused or not answer_of(alone).refused:
                return Standalone(self.question, LOST), _later(alone, pieces)
        return Standalone(query, WITH_WORDS), pieces

    def _by_all_or_own(self, query: str) -> list[Piece]:
        """Choose sentences by all that is searched for or, where that fails, by the own words.

        Those alone hardly say which sentence is meant. But an answer by all words may be that to
        the question before, once more.
        """
        pieces = self._with(query, asked=query)
        if not read_question(self.question).content or self._is_about(answer_of(pieces)):
            return pieces
        return _later(self._with(query, asked=self.question), pieces)

    def _with(self, query: str, *, asked: str) -> list[Piece]:
        return list(self.kb.stream(asked, query=query, candidates=self.cited))

    def _changes_language(self) -> bool:
        return has_cjk(self.question) != has_cjk(self.before.question)

    def _are_lost(self, hits: Sequence[Hit]) -> bool:
        own = naming_terms(self.question)
        return bool(own) and not any(own.intersection(analyse(hit.text)) for hit in hits)

    def _is_about(self, answer: Answer) -> bool:
        """Tell whether an answer cites a passage with a word of the question.

        The sentence that the last answer quoted needs one itself: a passage of a short document
        has the words of every question about it. A question that names nothing has its answer
        anywhere else.
        """
        if answer.refused:
            return False
        own = naming_terms(self.question)
        if _repeats(answer, self.before.answer):
            own = own or read_question(self.question).content
            return bool(own.intersection(analyse(answer.citations[0].quote)))
        return not own or any(own.intersection(analyse(hit.text)) for hit in _cited_by(answer))


def answer_of(pieces: Sequence[Piece]) -> Answer:
    """Return the answer that a try ends with."""
    last = pieces[-1]
    assert isinstance(last, Answer), "a stream ends with an Answer"
    return last


def _repeats(answer: Answer, text: str) -> bool:
    """Tell whether a text has the sentence that an answer quotes first, its best."""
    whole = " ".join(text.split())
    return any(" ".join(citation.quote.split()) in whole for citation in answer.citations[:1])


def _cited_by(answer: Answer) -> list[Hit]:
    return [
        hit
        for citation in answer.citations
        for hit in answer.hits
        if hit.document == citation.document and hit.start <= citation.start < hit.end
    ]


def _later(pieces: Sequence[Piece], before: Sequence[Piece]) -> list[Piece]:
    """Return a second try's pieces, its answer with the seconds of both tries."""
    *text, _ = pieces
    answer, spent = answer_of(pieces), dict(answer_of(before).timings)
    for stage, seconds in answer.timings.items():
        spent[stage] = spent.get(stage, 0.0) + seconds
    return [*text, replace(answer, timings=spent)]
