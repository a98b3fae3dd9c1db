"""The output of `ragkit ask` and `ragkit search`, made from a knowledge base and a request.

The command makes it, or a running `ragkit serve` does (`ragkit.cli.local_server`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ragkit.cli.output_values import Output

if TYPE_CHECKING:
    from ragkit.knowledge.base import KnowledgeBase
    from ragkit.types import Mode


@dataclass(frozen=True, slots=True)
class AskRequest:
    """The arguments of `ragkit ask` that change what it prints; None leaves the default."""

    question: str
    collection: str | None = None
    k: int | None = None
    mode: Mode | None = None
    where: str | None = None
    as_of: str | None = None
    as_json: bool = False
    show_reasoning: bool = False

    def output(self, kb: KnowledgeBase) -> Iterator[Output]:
        """Answer the question; yield the answer's text as it comes, or the whole as JSON.

        Raises what `KnowledgeBase.stream` does, after everything that came before the error.
        """
        from ragkit.documents.moments import moment

        kb = kb.adapted(where=self.where, as_of=moment(self.as_of))
        return self._json(kb) if self.as_json else self._text(kb)

    def _json(self, kb: KnowledgeBase) -> Iterator[Output]:
        from ragkit.cli import render
        from ragkit.errors import IncompleteAnswerError

        try:
            answer = kb.ask(self.question, k=self.k, mode=self.mode)
        except IncompleteAnswerError as error:
            yield Output("json", render.incomplete_json(error))
            raise
        yield Output("json", render.answer_json(answer))

    def _text(self, kb: KnowledgeBase) -> Iterator[Output]:
        """Send the reasoning to standard error, so that standard output holds the answer alone."""
        from ragkit.answer.plain_text import notes_text
        from ragkit.errors import IncompleteAnswerError
        from ragkit.text.printable import printable
        from ragkit.types import Answer, Reasoning

        reasoning = False
        try:
            for piece in kb.stream(self.question, k=self.k, mode=self.mode):
                if isinstance(piece, Reasoning):
                    if self.show_reasoning:
                        yield Output("err", printable(piece.text))
                        reasoning = True
                    continue
                if reasoning:
                    yield Output("err", "\n\n")
                    reasoning = False
                if isinstance(piece, Answer):
                    yield Output("out", notes_text(self.question, piece))
                else:
                    yield Output("out", printable(piece))
        except IncompleteAnswerError:
            yield Output("out", "\n")  # the error's message begins on a line of its own
            raise


@dataclass(frozen=True, slots=True)
class SearchRequest:
    """The arguments of `ragkit search` that change what it prints; None leaves the default."""

    query: str
    collection: str | None = None
    k: int | None = None
    mode: Mode = "hybrid"
    where: str | None = None
    as_of: str | None = None
    as_json: bool = False

    def output(self, kb: KnowledgeBase) -> Iterator[Output]:
        """Search; yield the passages as text or as JSON. Raises what `KnowledgeBase.find` does."""
        from ragkit.answer.plain_text import hits_text
        from ragkit.cli.render import hit_json
        from ragkit.documents.moments import moment

        kb = kb.adapted(where=self.where, as_of=moment(self.as_of))
        traced = kb.find(self.query, k=self.k, mode=self.mode)
        if self.as_json:
            yield Output("json", {"hits": [hit_json(hit) for hit in traced.hits]})
        else:
            yield Output("out", hits_text(self.query, traced.hits, traced.stages))


Request = AskRequest | SearchRequest
