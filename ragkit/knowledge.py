"""A knowledge base: search and ask over one collection, a plain composition of the core's parts."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Self

from ragkit.closing import Closing
from ragkit.contracts import Embedder, Generator, Store
from ragkit.text.pages import page_at
from ragkit.types import Answer, Citation, Draft, Hit, Mode, Reasoning, Turn

if TYPE_CHECKING:
    from ragkit.settings import Settings
    from ragkit.store.open import Database

PASSAGES = 5  # 3 to 8 are alike, 10 cost CMRC a point (docs/decisions/0005-extractive-default.md)


class KnowledgeBase(Closing):
    """Search and ask over one collection.

    >>> with KnowledgeBase.open() as kb:  # doctest: +SKIP
    ...     print(kb.ask("How many days of leave do I have?").text)
    """

    def __init__(
        self,
        store: Store,
        embedder: Embedder,
        generator: Generator,
        *,
        collection: str,
        top_k: int = 10,
        database: Database | None = None,
    ) -> None:
        self.store = store
        self.embedder = embedder
        self.generator = generator
        self.collection = collection
        self.top_k = top_k
        self._database = database

    @classmethod
    def open(cls, settings: Settings | None = None, *, collection: str | None = None) -> Self:
        """Open the database and compose what the settings name; models load on first use.

        Raises SettingsError, DatabaseError. An unknown collection is a NotFoundError at its use.
        """
        from ragkit.build import embedder, generator
        from ragkit.settings import load_settings
        from ragkit.store.open import open_database

        settings = settings or load_settings()
        database = open_database(settings)
        store = database.store(settings.tenant)
        name = collection or settings.collection
        return cls(
            store,
            embedder(settings),
            generator(settings, store, name),
            collection=name,
            top_k=settings.top_k,
            database=database,
        )

    def search(self, query: str, *, k: int | None = None, mode: Mode = "hybrid") -> Sequence[Hit]:
        """Find the k best passages, `top_k` unless told.

        Raises QueryError, and NotFoundError for an unknown collection.
        """
        from ragkit.retrieve.search import HybridRetriever

        retriever = HybridRetriever(self.store, self.embedder, self.collection, mode=mode)
        return retriever.search(query, k=self.top_k if k is None else k)

    def ask(self, question: str, *, k: int = PASSAGES, mode: Mode = "hybrid") -> Answer:
        """Answer a question from the collection, every citation verified, or refuse and say why."""
        for piece in self.stream(question, k=k, mode=mode):
            if isinstance(piece, Answer):
                return piece
        raise AssertionError("a stream ends with an Answer")

    def stream(
        self,
        question: str,
        *,
        k: int = PASSAGES,
        mode: Mode = "hybrid",
        query: str | None = None,
        history: Sequence[Turn] = (),
        candidates: Sequence[Hit] = (),
    ) -> Iterator[str | Reasoning | Answer]:
        """Yield the answer's text in pieces as it is generated, then the verified Answer.

        `query` is searched for in the question's place. `history` are the turns before, and
        `candidates` passages that are considered after those that the search finds.
        """
        from ragkit.answer.verify import verify

        started = time.perf_counter()
        found = self.search(query or question, k=k, mode=mode)
        known = {hit.chunk for hit in found}
        hits = [*found, *(hit for hit in candidates if hit.chunk not in known)]
        retrieved = time.perf_counter()
        draft: Draft | None = None
        for piece in self.generator.generate(question, hits, history=history):
            if isinstance(piece, Draft):
                draft = piece
            else:
                yield piece
        assert draft is not None, "a generator ends with a Draft"
        generated = time.perf_counter()
        checked = verify(draft, self.store.text, hits)
        yield Answer(
            text=draft.text,
            refused=draft.refused,
            reason=draft.reason,
            citations=self._paged(checked.citations),
            unverified=checked.unverified,
            hits=tuple(hits),
            timings={
                "retrieve": retrieved - started,
                "generate": generated - retrieved,
                "verify": time.perf_counter() - generated,
            },
            usage=draft.usage,
            used=draft.used,
            reasoning=draft.reasoning,
            prompt=draft.prompt,
        )

    def _paged(self, citations: Sequence[Citation]) -> tuple[Citation, ...]:
        """Name the page on which each quotation begins: a passage may reach over several."""
        pages = {number: self.store.pages(number) for number in {c.document for c in citations}}
        return tuple(replace(c, page=page_at(pages[c.document], c.start)) for c in citations)

    def close(self) -> None:
        """Close the database, if this knowledge base opened it."""
        if self._database is not None:
            self._database.close()
