"""ragkit for LangChain: a retriever, a vector store and embeddings of its interfaces.

Thin wrappers in both directions; they know nothing of chains or agents, and add no search of their
own. Asynchronous calls are LangChain's: the same code in a thread.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack
from importlib import import_module
from itertools import islice
from typing import TYPE_CHECKING, Any, Self
from uuid import uuid4

from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings
from langchain_core.retrievers import BaseRetriever
from langchain_core.vectorstores import VectorStore
from langchain_core.vectorstores.utils import maximal_marginal_relevance
from pydantic import ConfigDict

from ragkit.adapters.langchain_embeddings import RagkitEmbeddings, ragkit_embedder, unit
from ragkit.errors import UsageError
from ragkit.filters.tree import parse
from ragkit.knowledge.base import KnowledgeBase
from ragkit.settings.ingest_options import options_of
from ragkit.types import Chunk, Hit, Mode, NewDocument

if TYPE_CHECKING:
    from langchain_core.callbacks import CallbackManagerForRetrieverRun

    from ragkit.contracts import Vectors
    from ragkit.settings.ingest_options import IngestOptions
    from ragkit.settings.settings import Settings
    from ragkit.store.open import Database

__all__ = ["RagkitEmbeddings", "RagkitRetriever", "RagkitVectorStore"]

BATCH = 1000  # documents of one transaction or statement; what a filter may list
MASKING = "ragkit_ingest.clean.text_of_program"  # the core imports no part: see `knowledge.add`
WHOLE = "langchain"  # the metadata as JSON, where not all of it is text


class RagkitRetriever(BaseRetriever):
    """Find the passages of a knowledge base that fit a query.

    >>> RagkitRetriever(knowledge_base=KnowledgeBase.open(), k=3)  # doctest: +SKIP
    """

    model_config = ConfigDict(arbitrary_types_allowed=True)

    knowledge_base: KnowledgeBase
    k: int = 10
    mode: Mode = "hybrid"
    where: Mapping[str, Any] | str | None = None

    def _get_relevant_documents(
        self,
        query: str,
        *,
        run_manager: CallbackManagerForRetrieverRun,
        k: int | None = None,
        mode: Mode | None = None,
    ) -> list[Document]:
        kb = self.knowledge_base.adapted(where=self.where)
        hits = kb.search(query, k=self.k if k is None else k, mode=mode or self.mode)
        return [_passage(hit) for hit in hits]


class RagkitVectorStore(VectorStore):
    """Keep LangChain's documents in a collection of ragkit, each one searchable whole.

    A document's id is its URI in the collection: adding one with an id that is there replaces it,
    and costs one hash where nothing has changed. With `RagkitEmbeddings`, what LangChain keeps here
    is also what `ragkit ask` answers from. What the collection or the `settings` mask is masked.
    """

    def __init__(
        self,
        embedding: Embeddings,
        *,
        database: Database,
        tenant: str = "default",
        collection: str = "langchain",
        mode: Mode = "dense",
        settings: Settings | None = None,
    ) -> None:
        from ragkit.settings.settings import load_settings

        self._settings = settings or load_settings()
        self._given = embedding
        self._store = database.store(tenant)
        self._embedder = ragkit_embedder(embedding)
        self._collection = collection
        self._mode: Mode = mode
        self._unfinished = 0  # texts added since the indexes were seen to
        self._is_new = self._store.add_collection(collection)[1]

    @property
    def embeddings(self) -> Embeddings:
        return self._given

    @classmethod
    def from_texts(
        cls,
        texts: list[str],
        embedding: Embeddings,
        metadatas: list[dict[str, Any]] | None = None,
        *,
        ids: list[str] | None = None,
        **kwargs: Any,
    ) -> Self:
        """Open the store as the constructor does, by `database` or `settings`, and add texts.

        When that fails, nothing stays open, and no collection that was made for it stays empty.
        """
        with ExitStack() as undo:
            if "database" not in kwargs:
                from ragkit.settings.settings import load_settings
                from ragkit.store.open import open_database

                kwargs["settings"] = kwargs.get("settings") or load_settings()
                kwargs["database"] = open_database(kwargs["settings"])
                undo.callback(kwargs["database"].close)
            store = cls(embedding, **kwargs)
            undo.callback(store._forget_empty)
            store.add_texts(texts, metadatas, ids=ids)
            undo.pop_all()
        return store

    def add_texts(
        self,
        texts: Iterable[str],
        metadatas: list[dict[str, Any]] | None = None,
        *,
        ids: list[str] | None = None,
        **kwargs: Any,
    ) -> list[str]:
        """Add or replace texts, or a single one, each batch in one transaction; return their ids.

        Raises UsageError for an empty text, and where lengths differ.
        """
        values = _several(texts)
        ids = None if ids is None else _several(ids)
        names = [str(uuid4()) for _ in values] if ids is None else [i or str(uuid4()) for i in ids]
        metadata = metadatas or [{} for _ in values]
        if not len(values) == len(names) == len(metadata):
            raise UsageError(
                f"There are {len(values)} texts, {len(metadata)} metadata and {len(names)} ids:"
                " give one of each for every text."
            )
        latest = {name: (text, of) for name, text, of in zip(names, values, metadata, strict=True)}
        entries = iter(latest.items())
        while batch := list(islice(entries, BATCH)):
            self._put([(name, text, of) for name, (text, of) in batch])
        self._unfinished += len(latest)
        if self._unfinished >= BATCH:
            self._store.finish_load(self._collection, self._embedder.space)
            self._unfinished = 0
        return names

    def delete(self, ids: list[str] | str | None = None, **kwargs: Any) -> bool | None:
        """Delete documents by id, or all without ids; ids that are not there are passed over."""
        requested = None if ids is None else _several(ids)
        for document in self._store.named(self._collection, requested).values():
            self._store.delete_document(self._collection, document)
        return True

    def get_by_ids(self, ids: Sequence[str], /) -> list[Document]:
        ids = _several(ids)
        numbers = iter(self._store.named(self._collection, list(ids)).values())
        by_uri: dict[str, Hit] = {}
        with self._store.snapshot() as reader:
            while batch := list(islice(numbers, BATCH)):
                where = parse({"in": {"document": batch}})
                hits = reader.hits(reader.matching(self._collection, where))
                by_uri |= {hit.uri: hit for hit in hits}
        return [_document(by_uri[name]) for name in ids if name in by_uri]

    def similarity_search(
        self, query: str, k: int = 4, filter: Mapping[str, Any] | str | None = None, **kwargs: Any
    ) -> list[Document]:
        """Find the k documents that fit best; `filter` is ragkit's (see `ragkit.filters.tree`)."""
        return [
            document
            for document, _ in self.similarity_search_with_score(query, k, filter, **kwargs)
        ]

    def similarity_search_with_score(
        self,
        query: str,
        k: int = 4,
        filter: Mapping[str, Any] | str | None = None,
        mode: Mode | None = None,
        **kwargs: Any,
    ) -> list[tuple[Document, float]]:
        """Find them with their scores, higher is better: cosines, unless another mode is given."""
        from ragkit.retrieve.search import HybridRetriever

        where = None if filter is None else parse(filter)
        retriever = HybridRetriever(
            self._store, self._embedder, self._collection, mode or self._mode, where
        )
        return [(_document(hit), hit.score) for hit in retriever.search(query, k=k)]

    def similarity_search_by_vector(
        self, embedding: list[float], k: int = 4, **kwargs: Any
    ) -> list[Document]:
        return [_document(hit) for hit, _ in self._nearest(embedding, k, kwargs.get("filter"))]

    def max_marginal_relevance_search(
        self,
        query: str,
        k: int = 4,
        fetch_k: int = 20,
        lambda_mult: float = 0.5,
        filter: Mapping[str, Any] | str | None = None,
        **kwargs: Any,
    ) -> list[Document]:
        """Find documents that fit and differ; 1 for `lambda_mult` looks at the fit alone."""
        import numpy as np

        self._embedder.load()
        vector = self._embedder.embed_query(query)
        hits = self._nearest(vector, fetch_k, filter)
        rows = [row.tolist() for _, row in hits]
        chosen = maximal_marginal_relevance(np.asarray(vector), rows, lambda_mult=lambda_mult, k=k)
        return [_document(hits[n][0]) for n in chosen]

    def _select_relevance_score_fn(self) -> Callable[[float], float]:
        return lambda cosine: max(0.0, cosine)

    def _nearest(
        self, embedding: Sequence[float] | Vectors, k: int, filter: Mapping[str, Any] | str | None
    ) -> list[tuple[Hit, Vectors]]:
        self._embedder.load()
        space = self._embedder.space
        where = None if filter is None else parse(filter)
        with self._store.snapshot() as reader:
            nearest = reader.nearest(self._collection, space, unit([embedding])[0], k, where)
            chunks = [chunk for chunk, _ in nearest]
            rows = reader.vectors(space, chunks)
            return [(hit, rows[hit.chunk]) for hit in reader.hits(chunks)]

    def _forget_empty(self) -> None:
        """Delete the collection if this store made it and nothing is in it."""
        if self._is_new and not self._store.named(self._collection, None):
            self._store.delete_collection(self._collection)

    def _put(self, batch: Sequence[tuple[str, str, Mapping[str, Any]]]) -> None:
        for name, text, _ in batch:
            if not text.strip():
                raise UsageError(f"The document {name!r} has no text: leave it out.")
        self._embedder.load()
        documents = self._changed(batch)
        vectors = self._embedder.embed_passages([document.text for document in documents])
        rows = [vectors[n : n + 1] for n in range(len(documents))]
        self._store.put_documents(
            self._collection, list(zip(documents, rows, strict=True)), self._embedder.space
        )

    def _changed(self, batch: Sequence[tuple[str, str, Mapping[str, Any]]]) -> list[NewDocument]:
        """Return the documents that are not stored already, masked as the collection has it."""
        store, collection = self._store, self._collection
        options = options_of(self._settings, store.ingest_options(collection))
        documents = [_new_document(*given, options) for given in batch]
        if store.active_space(collection) != self._embedder.space:
            return documents
        stored = store.known(collection, [document.uri for document in documents])
        return [
            document
            for document in documents
            if stored.get(document.uri) != (document.content_hash, document.fingerprint)
        ]


def _several(texts: Iterable[str]) -> list[str]:
    """List texts; a single one, which is iterable too, is not taken apart."""
    return [texts] if isinstance(texts, str) else list(texts)


def _new_document(
    name: str, text: str, metadata: Mapping[str, Any], options: IngestOptions
) -> NewDocument:
    try:
        given = json.dumps([text, _texts(metadata)], sort_keys=True)
    except (TypeError, ValueError) as error:
        raise UsageError(f"The metadata of {name!r} are no JSON: {error}.") from error
    if options.mask:
        text, metadata = import_module(MASKING).masked_text(text, metadata, options)
    return NewDocument(
        uri=name,
        content_hash=hashlib.sha256(given.encode()).hexdigest(),
        fingerprint=f"langchain masks {options.mask}" if options.mask else "langchain",
        text=text,
        chunks=(Chunk(0, 0, len(text), len(text.split())),),
        metadata=_texts(metadata),
    )


def _texts(metadata: Mapping[str, Any]) -> dict[str, str]:
    """Return metadata as texts; where not all of it is text, also as it was given."""
    texts = {
        key: value if isinstance(value, str) else json.dumps(value)
        for key, value in metadata.items()
    }
    if texts != metadata:
        texts[WHOLE] = json.dumps(metadata)
    return texts


def _document(hit: Hit) -> Document:
    """Return what was kept here as it was given."""
    metadata = hit.metadata
    if WHOLE in metadata:
        metadata = json.loads(metadata[WHOLE])
    return Document(page_content=hit.text, metadata=dict(metadata), id=hit.uri)


def _passage(hit: Hit) -> Document:
    place = {
        "document": hit.document,
        "uri": hit.uri,
        "title": hit.title,
        "page": hit.page,
        "start": hit.start,
        "end": hit.end,
        "headings": list(hit.headings),
        "score": hit.score,
        "scores": dict(hit.scores),
    }
    return Document(page_content=hit.text, metadata={**hit.metadata, **place}, id=str(hit.chunk))
