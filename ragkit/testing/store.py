"""A store in memory: exact, and as strict about versions and snapshots as a database.

Every write makes a new state out of the old one, so a snapshot is the state it began with.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from itertools import count
from threading import Lock
from typing import TYPE_CHECKING

from ragkit.errors import NotFoundError, OtherModelError, UsageError
from ragkit.filters.tree import METADATA, Filter, comparisons, key_of, matches, texts_of, unknown
from ragkit.text.analyse import ANALYSER, analyse
from ragkit.text.passage import words_of
from ragkit.text.postings import Posting, Postings, Segment, Term
from ragkit.types import (
    Chunk,
    Collection,
    Document,
    EmbeddingSpace,
    Fields,
    Hit,
    NewDocument,
    Page,
    Span,
)

if TYPE_CHECKING:
    from ragkit.contracts import Vectors


@dataclass(frozen=True, slots=True)
class _Stored:
    document: Document
    source: NewDocument
    space: EmbeddingSpace
    vectors: Vectors
    chunks: tuple[int, ...]  # ids, in the order of new.chunks
    created_at: str
    updated_at: str


@dataclass(frozen=True, slots=True)
class _State:
    collections: Mapping[str, int] = field(default_factory=dict)
    stored: Mapping[int, _Stored] = field(default_factory=dict)

    def within(self, collection: str) -> list[_Stored]:
        if collection not in self.collections:
            raise NotFoundError(f"There is no collection {collection!r}: create it first.")
        return [s for s in self.stored.values() if s.document.collection == collection]

    def find(self, document: int) -> _Stored:
        if document not in self.stored:
            raise NotFoundError(f"There is no document {document}: list the documents there are.")
        return self.stored[document]


class FakeStore:
    """Keep documents in dictionaries; safe to use from several threads."""

    def __init__(self) -> None:
        self._state = _State()
        self._ids = count(1)
        self._lock = Lock()

    def create_collection(self, name: str) -> Collection:
        if not name.strip() or not name.isprintable():
            raise UsageError(f"A collection cannot be named {name!r}: use printable characters.")
        with self._lock:
            state = self._state
            if name not in state.collections:
                collections = {**state.collections, name: next(self._ids)}
                self._state = replace(state, collections=collections)
        return next(collection for collection in self.collections() if collection.name == name)

    def collections(self) -> Sequence[Collection]:
        state = self._state
        listed = []
        for name, number in sorted(state.collections.items()):
            inside = state.within(name)
            chunks = sum(len(stored.chunks) for stored in inside)
            listed.append(Collection(number, name, documents=len(inside), chunks=chunks))
        return listed

    def delete_collection(self, name: str) -> None:
        with self._lock:
            gone = {stored.document.id for stored in self._state.within(name)}
            self._state = _State(
                {n: number for n, number in self._state.collections.items() if n != name},
                {n: stored for n, stored in self._state.stored.items() if n not in gone},
            )

    def put_document(
        self, collection: str, document: NewDocument, space: EmbeddingSpace, vectors: Vectors
    ) -> Document:
        expected = (len(document.chunks), space.dimension)
        if vectors.shape != expected:
            raise UsageError(f"Vectors have shape {vectors.shape}, expected {expected}.")
        with self._lock:
            inside = self._state.within(collection)
            _require(self._state, collection, space)
            previous = next((s for s in inside if s.document.uri == document.uri), None)
            replaced = None if previous is None else previous.document
            time = f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}"
            result = Document(
                id=next(self._ids) if replaced is None else replaced.id,
                uri=document.uri,
                title=document.title,
                collection=collection,
                language=document.language,
                version=1 if replaced is None else replaced.version + 1,
                chunks=len(document.chunks),
                chars=len(document.text),
            )
            chunks = tuple(next(self._ids) for _ in document.chunks)
            created = time if previous is None else previous.created_at
            stored = _Stored(result, document, space, vectors.copy(), chunks, created, time)
            self._state = replace(self._state, stored={**self._state.stored, result.id: stored})
        return result

    def active_space(self, collection: str) -> EmbeddingSpace | None:
        return _active_space(self._state, collection)

    def delete_document(self, collection: str, document: int) -> None:
        with self._lock:
            if document not in {stored.document.id for stored in self._state.within(collection)}:
                raise NotFoundError(f"There is no document {document} in {collection!r}.")
            remaining = {n: stored for n, stored in self._state.stored.items() if n != document}
            self._state = replace(self._state, stored=remaining)

    def documents(self, collection: str) -> Sequence[Document]:
        documents = [stored.document for stored in self._state.within(collection)]
        return sorted(documents, key=lambda document: document.uri)

    def document(self, document: int) -> Document:
        return self._state.find(document).document

    def text(self, document: int) -> str:
        return self._state.find(document).source.text

    def sources(self, documents: Iterable[int]) -> Mapping[int, tuple[str, Sequence[Page]]]:
        stored = self._state.stored
        sources = {number: stored[number].source for number in documents if number in stored}
        return {number: (source.text, source.pages) for number, source in sources.items()}

    def known(
        self, collection: str, uris: Sequence[str] | None = None
    ) -> Mapping[str, tuple[str, str]]:
        news = [stored.source for stored in self._state.within(collection)]
        return {
            new.uri: (new.content_hash, new.fingerprint)
            for new in news
            if uris is None or new.uri in uris
        }

    @contextmanager
    def snapshot(self) -> Iterator[FakeReader]:
        yield FakeReader(self._state)


class FakeReader:
    """One state of a `FakeStore`."""

    def __init__(self, state: _State) -> None:
        self._state = state

    def moment(self, collection: str) -> object:
        inside = self._state.within(collection)
        return tuple((stored.document.id, stored.document.version) for stored in inside)

    def nearest(
        self,
        collection: str,
        space: EmbeddingSpace,
        vector: Vectors,
        k: int,
        where: Filter | None = None,
    ) -> Sequence[tuple[int, float]]:
        _require(self._state, collection, space)
        if where is not None:
            _check(self._state, collection, where)
        ranking = [
            (chunk, float(row @ vector))
            for stored in self._state.within(collection)
            if stored.space == space and (where is None or matches(where, _fields(stored)))
            for chunk, row in zip(stored.chunks, stored.vectors, strict=True)
        ]
        return sorted(ranking, key=lambda pair: (-pair[1], pair[0]))[:k]

    def similarities(
        self, space: EmbeddingSpace, vector: Vectors, chunks: Sequence[int]
    ) -> Mapping[int, float]:
        requested = set(chunks)
        return {
            chunk: float(row @ vector)
            for stored in self._state.stored.values()
            if stored.space == space
            for chunk, row in zip(stored.chunks, stored.vectors, strict=True)
            if chunk in requested
        }

    def matching(self, collection: str, where: Filter) -> Sequence[int]:
        _check(self._state, collection, where)
        return sorted(
            chunk
            for stored in self._state.within(collection)
            if matches(where, _fields(stored))
            for chunk in stored.chunks
        )

    def allowed(self, collection: str, chunks: Sequence[int], where: Filter) -> Sequence[int]:
        matching = set(self.matching(collection, where))
        return [chunk for chunk in chunks if chunk in matching]

    def vectors(self, space: EmbeddingSpace, chunks: Sequence[int]) -> Mapping[int, Vectors]:
        requested = set(chunks)
        return {
            chunk: row
            for stored in self._state.stored.values()
            if stored.space == space
            for chunk, row in zip(stored.chunks, stored.vectors, strict=True)
            if chunk in requested
        }

    def postings(self, collection: str, terms: Sequence[str]) -> Postings:
        import numpy as np

        chunks = self._terms(collection)
        counts = [Counter(chunks[number]) for number in sorted(chunks)]
        segment = Segment(
            np.array(sorted(chunks), np.int64),
            np.array([len(chunks[number]) for number in sorted(chunks)], np.int32),
        )
        entries = {}
        for term in set(terms):
            places = np.array([n for n, of_chunk in enumerate(counts) if of_chunk[term]], np.int32)
            if len(places):
                frequencies = np.array([counts[place][term] for place in places], np.uint32)
                posting = Posting.of(places, frequencies, segment.lengths)
                entries[term] = Term(len(places), (posting,))
        return Postings(len(chunks), int(segment.lengths.sum()), (segment,), entries)

    def analyser(self, collection: str) -> str:
        self._state.within(collection)
        return ANALYSER

    def beginning_or_ending(self, collection: str, character: str) -> Sequence[str]:
        terms = {term for counts in self._terms(collection).values() for term in counts}
        return sorted(t for t in terms if len(t) <= 2 and character in {t[0], t[-1]})

    def _terms(self, collection: str) -> dict[int, list[str]]:
        return {
            number: analyse(words_of(stored.source.text, chunk))
            for stored in self._state.within(collection)
            for number, chunk in zip(stored.chunks, stored.source.chunks, strict=True)
        }

    def hits(self, chunks: Sequence[int]) -> Sequence[Hit]:
        place = {
            number: (stored, chunk)
            for stored in self._state.stored.values()
            for number, chunk in zip(stored.chunks, stored.source.chunks, strict=True)
        }
        return [
            Hit(
                document=stored.document.id,
                chunk=number,
                uri=stored.document.uri,
                title=stored.document.title,
                page=chunk.page,
                start=chunk.start,
                end=chunk.end,
                text=stored.source.text[chunk.start : chunk.end],
                score=0.0,
                headings=chunk.headings,
                version=stored.document.version,
                metadata=dict(stored.source.metadata),
                lead=_cut(stored.source.text, chunk.lead),
                parent=chunk.parent,
            )
            for number, (stored, chunk) in ((n, place[n]) for n in chunks if n in place)
        ]

    def around(self, chunks: Sequence[int], reach: int) -> Mapping[int, Sequence[Chunk]]:
        return {
            number: stored.source.chunks[max(0, at - reach) : at + reach + 1]
            for stored in self._state.stored.values()
            for at, number in enumerate(stored.chunks)
            if number in set(chunks)
        }

    def excerpts(self, places: Sequence[tuple[int, Span]]) -> Sequence[str]:
        stored = self._state.stored
        return [
            stored[number].source.text[span.start : span.end] if number in stored else ""
            for number, span in places
        ]

    def fields(self, collection: str) -> Fields:
        news = [stored.source for stored in self._state.within(collection)]
        every = [texts_of(source.metadata) for source in news]
        keys = sorted({name.removeprefix(METADATA) for texts in every for name in texts})
        return Fields(
            languages=_commonest([source.language for source in news]),
            media_types=_commonest([source.media_type for source in news]),
            keys=dict.fromkeys(keys),
            values={k: _commonest([texts.get(METADATA + k, "") for texts in every]) for k in keys},
        )


def _cut(text: str, span: Span | None) -> str:
    return "" if span is None else text[span.start : span.end]


def _active_space(state: _State, collection: str) -> EmbeddingSpace | None:
    return next((stored.space for stored in state.within(collection) if stored.chunks), None)


def _require(state: _State, collection: str, space: EmbeddingSpace) -> None:
    active = _active_space(state, collection)
    if active not in (None, space):
        raise OtherModelError(f"{collection!r} is embedded with {active}, not with {space}.")


def _commonest(values: Sequence[str]) -> tuple[str, ...]:
    return tuple(value for value, _ in Counter(values).most_common() if value)


def _fields(stored: _Stored) -> Mapping[str, str | int]:
    document, source = stored.document, stored.source
    return {
        "document": document.id,
        "version": document.version,
        "uri": source.uri,
        "title": source.title,
        "language": source.language,
        "media_type": source.media_type,
        "created_at": stored.created_at,
        "updated_at": stored.updated_at,
        **texts_of(source.metadata),
    }


def _check(state: _State, collection: str, where: Filter) -> None:
    """Raise QueryError for a field that no document of the collection has."""
    inside = state.within(collection)
    keys = {key for stored in inside for key in stored.source.metadata}
    for comparison in comparisons(where):
        key = key_of(comparison.field)
        if inside and key is not None and key not in keys:
            raise unknown(comparison.field, keys)
