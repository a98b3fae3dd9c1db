"""A knowledge base: search and ask over one collection, a plain composition of the core's parts."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from copy import copy
from dataclasses import replace
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, Any, Self

from ragkit.answer.check.finish import check_draft
from ragkit.answer.meaning import Meaning
from ragkit.answer.refuse.gate import Decision, Gate
from ragkit.answer.write.drafting import Adaptable, draft_answer, writes_data
from ragkit.answer.write.extract import ExtractiveGenerator
from ragkit.answer.write.greeting import greet, is_greeting
from ragkit.contracts import Embedder, Generator, Refinement, Reranker, Store
from ragkit.documents.moments import Versioned
from ragkit.errors import UsageError
from ragkit.filters.tree import Filter, parse
from ragkit.knowledge.add import Adding
from ragkit.retrieve.steps.duplicates import Collapse
from ragkit.retrieve.words.weights import term_weights
from ragkit.system.clock import Clock
from ragkit.system.closing import Closing
from ragkit.types import Answer, Decoding, Draft, Hit, Mode, Query, Reasoning, SearchResult, Turn

if TYPE_CHECKING:
    from ragkit.answer.check.verify import Entails
    from ragkit.contracts import LanguageModel
    from ragkit.knowledge.embedders import Embedders
    from ragkit.retrieve.pipeline import Pipeline
    from ragkit.settings.settings import Settings
    from ragkit.store.documents.filter_sql import Readers
    from ragkit.store.open import Database
    from ragkit.why.steps import Why

PASSAGES = 5  # 3 to 8 are alike, 10 cost CMRC a point (docs/decisions/0005-extractive-default.md)


class KnowledgeBase(Adding, Closing):
    """Add documents to one collection, search it and ask it.

    >>> with KnowledgeBase.open() as kb:  # doctest: +SKIP
    ...     report = kb.add("contracts")
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
        gate: Gate | None = None,
        entails: Entails | None = None,
    ) -> None:
        self.store = store
        self.embedder = embedder
        self.generator = generator
        self.collection = collection
        self.top_k = top_k
        self.passages = PASSAGES
        self.mode: Mode = "hybrid"
        self.database = database
        self._owns_database = False
        self._models = None
        self._gate = gate or Gate(
            lambda terms: term_weights(store, collection, terms), meaning=Meaning(embedder)
        )
        self._entails = entails
        self.distinct: Refinement | None = None
        self.reranker: Reranker | None = None
        self.refinements: Sequence[Refinement] = ()
        self.candidates = 0  # hits that are reranked and refined
        self.widening: Sequence[Refinement] = ()
        self.plan: Callable[[str], Query] = Query
        self.where: Filter | None = None
        self._on_found: Callable[[Sequence[Hit]], None] = lambda hits: None

    @classmethod
    def open(cls, settings: Settings | None = None, *, collection: str | None = None) -> Self:
        """Open the database and compose what the settings name; models load on first use.

        Raises SettingsError, DatabaseError. An unknown collection is a NotFoundError at its use.
        """
        from ragkit.knowledge.embedders import Embedders
        from ragkit.settings.settings import load_settings
        from ragkit.store.open import open_database

        settings = settings or load_settings()
        models = Embedders(settings)
        database = open_database(settings)
        with ExitStack() as unless_composed:
            unless_composed.callback(database.close)
            kb = cls.over(database, settings, collection=collection, embedders=models)
            unless_composed.pop_all()
        kb._owns_database, kb._models = True, models
        return kb

    @classmethod
    def over(
        cls,
        database: Database,
        settings: Settings,
        *,
        tenant: str | None = None,
        collection: str | None = None,
        embedder: Embedder | None = None,
        embedders: Embedders | None = None,
        reranker: Reranker | None = None,
        model: LanguageModel | None = None,
        entails: Entails | None = None,
        readers: Readers = None,
    ) -> Self:
        """Compose what the settings name over an open database, which stays its opener's to close.

        What is given takes the place of the settings' own. Without an embedder the collection is
        searched with its own model, one of `embedders`. Of documents there are only those that the
        principals `readers` may read, None for all. Raises SettingsError.
        """
        from ragkit.knowledge import build
        from ragkit.knowledge.embedders import CollectionEmbedder, Embedders
        from ragkit.store.people.calibration import Calibrations, CurrentCutoff

        tenant = tenant or settings.tenant
        name = collection or settings.collection
        store = database.store(tenant, readers=readers)
        collection_embedder = embedder or CollectionEmbedder(
            embedders or Embedders(settings), store.spaces, name
        )
        reranker = reranker or build.reranker(settings, collection_embedder)
        model = model or build.language_model(settings)
        calibrations = Calibrations(database.pool, tenant)
        cutoff = CurrentCutoff(calibrations, name, embedder, reranker=reranker)
        meaning = Meaning(collection_embedder)
        kb = cls(
            store,
            collection_embedder,
            build.generator(settings, store, name, model=model, meaning=meaning),
            collection=name,
            top_k=settings.top_k,
            database=database,
            gate=Gate(lambda terms: term_weights(store, name, terms), cutoff, meaning=meaning),
            entails=entails or build.entailment(settings),
        )
        kb.distinct = Collapse()
        kb.reranker = reranker
        kb.refinements = build.refinements(settings, store, name)
        kb.candidates = settings.rerank_candidates
        kb.widening = build.widening(settings, store)
        kb.plan = build.plan(settings, store, name, model=model)
        return kb

    def adapted(
        self,
        *,
        passages: int | None = None,
        mode: Mode | None = None,
        where: Mapping[str, Any] | str | None = None,
        as_of: datetime | None = None,
        refusal_threshold: float | None = None,
        decoding: Decoding | None = None,
        instructions: str = "",
        on_found: Callable[[Sequence[Hit]], None] | None = None,
    ) -> Self:
        """Return this knowledge base with other defaults, for one caller or one question.

        Answers come from `passages` passages, found by `mode` in documents that the filter `where`
        (see `ragkit.filters.tree`) is true of, as they were at the moment `as_of`, which has a time
        zone: see `PostgresStore.as_of`. `refusal_threshold` takes the place of a fitted cut-off's;
        0 leaves every refusal to the generator. `decoding` and `instructions`, which follow the
        prompt's own, are for a language model; without one they mean nothing. `on_found` is shown
        the passages before anything is generated. The database stays its opener's to close.
        """
        adapted = copy(self)
        adapted._owns_database = False
        adapted.passages = passages or self.passages
        adapted.mode = mode or self.mode
        adapted.where = self.where if where is None else parse(where)
        if as_of is not None:
            adapted.store = past = _as_of(self.store, as_of)
            weigh = partial(term_weights, past, self.collection)
            adapted._gate = adapted._gate.weighing(weigh)
            if isinstance(self.generator, ExtractiveGenerator):
                adapted.generator = self.generator.weighing(weigh)
        adapted._on_found = on_found or self._on_found
        if refusal_threshold is not None:
            adapted._gate = adapted._gate.at(refusal_threshold)
        if isinstance(self.generator, Adaptable):
            adapted.generator = self.generator.adapted(decoding=decoding, instructions=instructions)
        return adapted

    def showing_nobody(self) -> Self:
        """Return this knowledge base for a try that may not count: `on_found` is shown nothing."""
        silent = copy(self)
        silent._owns_database = False
        silent._on_found = lambda hits: None
        return silent

    def show(self, hits: Sequence[Hit]) -> None:
        """Show `on_found` the passages of the try that counts."""
        self._on_found(hits)

    def search(
        self, query: str, *, k: int | None = None, mode: Mode | None = None
    ) -> Sequence[Hit]:
        """Find the k best passages, `top_k` unless told.

        Raises QueryError, and NotFoundError for an unknown collection or one without a document.
        """
        return list(self.find(query, k=k, mode=mode).hits)

    def find(self, query: str, *, k: int | None = None, mode: Mode | None = None) -> SearchResult:
        """Search as `search` does; return the hits with the steps that led to them."""
        from ragkit.retrieve.current_model import refuse_empty_collection

        result = self._search(query, k, mode)
        if not result.hits:
            refuse_empty_collection(self.store, self.collection)
        return result

    def _search(
        self, query: str, k: int | None, mode: Mode | None, *, for_answer: bool = False
    ) -> SearchResult:
        from ragkit.knowledge.embedders import CollectionEmbedder
        from ragkit.retrieve.current_model import search_with_current_model
        from ragkit.retrieve.search import check_query

        k, mode = self.top_k if k is None else k, mode or self.mode
        check_query(query, k)  # before any model is looked for
        embedder = self.embedder
        if mode == "lexical" or not isinstance(embedder, CollectionEmbedder):
            return self.retriever(mode, for_answer=for_answer).find(query, k=k)

        def retriever(fresh: bool) -> Pipeline:
            return self.retriever(mode, fresh=fresh, for_answer=for_answer)

        return search_with_current_model(retriever, query, k=k, had_space=embedder.had)

    def retriever(
        self, mode: Mode | None = None, *, fresh: bool = True, for_answer: bool = False
    ) -> Pipeline:
        """Return what searches the collection, by this knowledge base's mode unless told.

        With `for_answer`, as for answers, a query's marks are preferences; else they demand.

        It keeps the model that the collection has now: for one search, not for later. Without
        `fresh` it is the model that was last seen; a search raises OtherModelError if it is not.
        """
        from ragkit.knowledge.embedders import current, latest
        from ragkit.retrieve.pipeline import Pipeline
        from ragkit.retrieve.search import HybridRetriever

        mode = mode or self.mode
        # Words need no model. A search keeps to the one that its query is embedded with.
        embedder = self.embedder
        if mode != "lexical":
            embedder = current(embedder) if fresh else latest(embedder)
        legs = HybridRetriever(self.store, embedder, self.collection, mode, self.where)
        refinements = [*self._reranking(mode), *self.refinements]
        return Pipeline(
            legs,
            distinct=self.distinct,
            refinements=refinements,
            depth=self.candidates if refinements else 0,
            widening=self.widening,
            plan=self.plan,
            for_answer=for_answer,
        )

    def _reranking(self, mode: Mode) -> list[Refinement]:
        """Return the reranker's steps: the new order, the cut-off of `ragkit eval calibrate`."""
        from ragkit.rerank.refine import CutOff, Rerank

        if self.reranker is None:
            return []
        return [Rerank(self.reranker, self.candidates), CutOff(lambda: self._gate.least(mode))]

    def ask(self, question: str, *, k: int | None = None, mode: Mode | None = None) -> Answer:
        """Answer a question from the collection, every citation verified, or refuse and say why."""
        for piece in self.stream(question, k=k, mode=mode):
            if isinstance(piece, Answer):
                return piece
        raise AssertionError("a stream ends with an Answer")

    def stream(
        self,
        question: str,
        *,
        k: int | None = None,
        mode: Mode | None = None,
        query: str | None = None,
        history: Sequence[Turn] = (),
        candidates: Sequence[Hit] = (),
    ) -> Iterator[str | Reasoning | Answer]:
        """Yield the answer's text in pieces as it is generated, then the verified Answer.

        `query` is searched for in the question's place. `history` are the turns before, and
        `candidates` passages that are considered after those that the search finds. When these
        cannot be answered from, the generator is not asked: the answer is a refusal. A greeting or
        thanks is answered with a greeting and what can be asked, without a search. Raises what
        `search` does, and ModelError, before anything is generated, for a model that is not there.
        """
        self.load_entailment()
        clock = Clock()
        if isinstance(question, str) and is_greeting(question):
            text = greet(question, self.store, self.collection, names_documents=not self.where)
            yield text
            yield Answer(text, refused=False, reason="", timings=clock.seconds)
            return
        mode = mode or self.mode
        k = self.passages if k is None else k
        result = self._search(query or question, k, mode, for_answer=True)
        chunks = {hit.chunk for hit in result.hits}
        hits = [*result.hits, *(hit for hit in candidates if hit.chunk not in chunks)]
        clock.stop("retrieve")
        self._on_found(hits)
        decision = self._gate.judge(query or question, hits, mode)
        clock.stop("gate")
        draft: Draft | None = None
        for piece in draft_answer(
            self.generator, decision, question, hits, history, query=query or ""
        ):
            if isinstance(piece, Draft):
                draft = piece
            else:
                yield piece
        assert draft is not None, "a generator ends with a Draft"
        clock.stop("generate")
        yield replace(self.verified(draft, hits, clock), searched=result.planned)

    def load_entailment(self) -> None:
        """Load the model that an answer's claims are checked with; nothing where none is set.

        Raises ModelError when it cannot be had. `stream` does it before anything else.
        """
        from ragkit.answer.check.entailment import load_entailment

        load_entailment(self._entails)

    def why(
        self,
        question: str,
        document: str | int,
        *,
        k: int | None = None,
        mode: Mode | None = None,
        answer: bool = True,
    ) -> Why:
        """Tell what became of a document on the way to an answer, and which stage lost it.

        `document` is its number, file name, title, URI, or a part that no other has. Without
        `answer` nothing is generated: the way ends with the passages. Raises UsageError for a
        name of several documents, and what `find` raises.
        """
        from ragkit.why.walk import walk

        def draw(decision: Decision, question: str, hits: Sequence[Hit]) -> Draft:
            *_, last = draft_answer(self.generator, decision, question, hits)
            assert isinstance(last, Draft), "a generator ends with a Draft"
            return last

        return walk(
            self,
            question,
            str(document),
            k=self.passages if k is None else k,
            mode=mode or self.mode,
            judge=self._gate.judge,
            draft=draw if answer else None,
        )

    def verified(self, draft: Draft, hits: Sequence[Hit], clock: Clock) -> Answer:
        """Check a draft about these passages against the stored text, and make it an answer."""
        return check_draft(
            draft,
            hits,
            store=self.store,
            clock=clock,
            entails=self._entails,
            embedder=self.embedder,
            is_data=writes_data(self.generator),
        )

    def close(self) -> None:
        """Close the database, if this knowledge base opened it."""
        if self.database is not None and self._owns_database:
            self.database.close()


def _as_of(store: Store, moment: datetime) -> Store:
    if not isinstance(store, Versioned):
        raise UsageError("this store keeps no old versions: search it without a moment")
    return store.as_of(moment)
