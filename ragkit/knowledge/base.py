"""A knowledge base: search and ask over one collection, a plain composition of the core's parts."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from copy import copy
from dataclasses import replace
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, Any, Self, cast

from ragkit.answer.check.finish import check_draft
from ragkit.answer.meaning import Meaning
from ragkit.answer.refuse.gate import Gate, SearchMoment
from ragkit.answer.write.drafting import Adaptable, draft_answer, writes_data
from ragkit.answer.write.extract import ExtractiveGenerator
from ragkit.answer.write.greeting import greet, is_greeting
from ragkit.contracts import Embedder, Generator, Refinement, Reranker, Store
from ragkit.documents.moments import Versioned
from ragkit.errors import UsageError
from ragkit.filters.tree import Filter, parse
from ragkit.knowledge.add import Adding
from ragkit.knowledge.searching import Searching, ignore
from ragkit.retrieve.search import check_query
from ragkit.retrieve.steps.duplicates import Collapse
from ragkit.retrieve.words.weights import term_weights
from ragkit.system.clock import Clock
from ragkit.system.closing import Closing
from ragkit.types import Answer, Decoding, Draft, Hit, Mode, Query, Reasoning, Turn

if TYPE_CHECKING:
    from ragkit.answer.check.verify import Entails
    from ragkit.contracts import LanguageModel
    from ragkit.knowledge.embedders import Embedders
    from ragkit.prompts.prompting import Prompting
    from ragkit.settings.settings import Settings
    from ragkit.store.documents.filter_sql import Readers
    from ragkit.store.open import Database
    from ragkit.types import EmbeddingSpace
    from ragkit.why.steps import Why

PASSAGES = 5  # 3 to 8 are alike, 10 cost CMRC a point (docs/decisions/0005-extractive-default.md)


class KnowledgeBase(Adding, Searching, Closing):
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
        owner: Embedders | None = None,
        gate: Gate | None = None,
        entails: Entails | None = None,
        distinct: Refinement | None = None,
        reranker: Reranker | None = None,
        refinements: Sequence[Refinement] = (),
        candidates: int = 0,
        widening: Sequence[Refinement] = (),
        plan: Callable[[str], Query] = Query,
    ) -> None:
        """Compose a knowledge base of its parts: see `over`.

        With the models `owner` it adds documents, and closes the database.
        """
        self.store = store
        self.embedder = embedder
        self.generator = generator
        self.collection = collection
        self.top_k = top_k
        self.passages = PASSAGES
        self.mode: Mode = "hybrid"
        self.database = database
        self.owner = owner
        self.gate = gate or Gate(
            lambda terms: term_weights(store, collection, terms), meaning=Meaning(embedder)
        )
        self.entails = entails
        self.distinct = distinct
        self.reranker = reranker
        self.refinements = refinements
        self.candidates = candidates
        self.widening = widening
        self.plan = plan
        self.where: Filter | None = None
        self._on_found: Callable[[Sequence[Hit]], None] = ignore

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
            kb = cls.over(database, settings, collection=collection, embedders=models, owns=True)
            unless_composed.pop_all()
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
        space: EmbeddingSpace | None = None,
        owns: bool = False,
    ) -> Self:
        """Compose what the settings name over an open database, which stays its opener's to close.

        What is given takes the place of the settings' own. Without an embedder the collection is
        searched with its own model, one of `embedders`. Of documents there are only those that the
        principals `readers` may read, None for all. The collection is searched in `space`, which is
        that of `embedder`, though it is not switched to it. If it `owns` the database it closes it,
        and may add documents. Raises SettingsError.
        """
        from ragkit.knowledge import build
        from ragkit.knowledge.embedders import CollectionEmbedder, Embedders
        from ragkit.store.people.calibration import CurrentCutoff

        tenant = tenant or settings.tenant
        name = collection or settings.collection
        store = database.store(tenant, readers=readers)
        if space is not None:
            store = store.in_space(space)
        embedders = embedders or Embedders(settings)
        of_collection = embedder or CollectionEmbedder(embedders, store.spaces, name)
        reranker = reranker or build.reranker(settings, of_collection)
        model = model or build.language_model(settings)
        cutoff = CurrentCutoff(store, name, embedder, reranker=reranker)
        meaning = Meaning(of_collection)
        return cls(
            store,
            of_collection,
            build.generator(settings, store, name, model=model, meaning=meaning),
            collection=name,
            top_k=settings.top_k,
            database=database,
            owner=embedders if owns else None,
            gate=Gate(lambda terms: term_weights(store, name, terms), cutoff, meaning=meaning),
            entails=entails or build.entailment(settings),
            distinct=Collapse(),
            reranker=reranker,
            refinements=build.refinements(settings, store, name),
            candidates=settings.rerank_candidates,
            widening=build.widening(settings, store),
            plan=build.plan(settings, store, name, model=model),
        )

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
        prompting: Prompting | None = None,
        on_found: Callable[[Sequence[Hit]], None] | None = None,
    ) -> Self:
        """Return this knowledge base with other defaults, for one caller or one question.

        Answers come from `passages` passages, found by `mode` in documents that the filter `where`
        (see `ragkit.filters.tree`) is true of, as they were at the moment `as_of`, which has a time
        zone: see `PostgresStore.as_of`. `refusal_threshold` takes the place of a fitted cut-off's;
        0 leaves every refusal to the generator. `decoding` and `instructions`, which follow the
        prompt's own, are for a language model; without one they mean nothing. `prompting` asks it
        with examples, in steps or several times (`ragkit.prompts.prompting`), and is a UsageError
        without one. `on_found` is shown the passages before anything is generated. The database
        stays its opener's to close.
        """
        adapted = copy(self)
        adapted.owner = None
        adapted.passages = passages or self.passages
        adapted.mode = mode or self.mode
        adapted.where = self.where if where is None else parse(where)
        if as_of is not None:
            if not isinstance(self.store, Versioned):
                raise UsageError("this store keeps no old versions: search it without a moment")
            adapted.store = self.store.as_of(as_of)
            weigh = partial(term_weights, adapted.store, self.collection)
            adapted.gate = adapted.gate.weighing(weigh)
            if isinstance(self.generator, ExtractiveGenerator):
                adapted.generator = self.generator.weighing(weigh)
        adapted._on_found = on_found or self._on_found
        if refusal_threshold is not None:
            adapted.gate = adapted.gate.at(refusal_threshold)
        if isinstance(self.generator, Adaptable):
            if decoding is not None or instructions or prompting is not None:
                adapted.generator = self.generator.adapted(
                    decoding=decoding, instructions=instructions, prompting=prompting
                )
        elif prompting is not None:
            raise UsageError(
                "examples, steps and samples are for a language model: set RAGKIT_LLM_URL"
            )
        return adapted

    def show(self, hits: Sequence[Hit]) -> None:
        """Show `on_found` the passages of the try that counts."""
        self._on_found(hits)

    def ask(self, question: str, *, k: int | None = None, mode: Mode | None = None) -> Answer:
        """Answer a question from the collection, every citation verified, or refuse and say why."""
        *_, answer = self.stream(question, k=k, mode=mode)
        assert isinstance(answer, Answer), "a stream ends with an Answer"
        return answer

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
        k, mode = self.passages if k is None else k, mode or self.mode
        check_query(query or question, k)  # before any model is looked for
        texts = {question, query or question}
        moment = SearchMoment(self.collection, texts, mode, self.gate.cutoffs)
        result = self._search(query or question, k, mode, moment)
        chunks = {hit.chunk for hit in result.hits}
        hits = [*result.hits, *(hit for hit in candidates if hit.chunk not in chunks)]
        clock.stop("retrieve")
        self._on_found(hits)
        gate = self.gate.weighing(moment.weigh, moment.cutoff)
        decision = gate.judge(query or question, hits, mode)
        clock.stop("gate")
        generator = self.generator
        if isinstance(generator, ExtractiveGenerator):
            generator = generator.weighing(moment.weigh)
        drafting = partial(
            draft_answer, decision=decision, question=question, hits=hits, history=history,
            query=query or "",
        )  # fmt: skip
        if getattr(generator, "samples", 1) > 1 and not decision.reason:
            from ragkit.knowledge.samples import sample

            answer = sample(cast("Any", generator), drafting, hits, self.verified, clock)
            yield answer.text
        else:
            draft: Draft | None = None
            for piece in drafting(generator):
                if isinstance(piece, Draft):
                    draft = piece
                else:
                    yield piece
            assert draft is not None, "a generator ends with a Draft"
            clock.stop("generate")
            answer = self.verified(draft, hits, clock)
        yield replace(answer, searched=result.planned)

    def load_entailment(self) -> None:
        """Load the model that an answer's claims are checked with; nothing where none is set.

        Raises ModelError when it cannot be had. `stream` does it before anything else.
        """
        from ragkit.answer.check.entailment import load_entailment

        load_entailment(self.entails)

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

        k, mode = self.passages if k is None else k, mode or self.mode
        return walk(self, question, str(document), k=k, mode=mode, answer=answer)

    def verified(self, draft: Draft, hits: Sequence[Hit], clock: Clock) -> Answer:
        """Check a draft about these passages against the stored text, and make it an answer."""
        return check_draft(
            draft,
            hits,
            store=self.store,
            clock=clock,
            entails=self.entails,
            embedder=self.embedder,
            is_data=writes_data(self.generator),
        )

    def close(self) -> None:
        """Close the database, if this knowledge base opened it."""
        if self.database is not None and self.owner is not None:
            self.database.close()
