"""A store in memory: exact, and as strict about versions and snapshots as a database.

Every write makes a new state out of the old one, so a snapshot is the state it began with.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from itertools import count
from threading import Lock
from typing import TYPE_CHECKING

from ragkit.contracts import Postings
from ragkit.errors import NotFoundError, UsageError
from ragkit.filters import METADATA, Filter, matches
from ragkit.text.analyse import analyse
from ragkit.types import Collection, Document, EmbeddingSpace, Hit, NewDocument, Page

if TYPE_CHECKING:
    from ragkit.contracts import Vectors


@dataclass(frozen=True, slots=True)
class _Stored:
    document: Document
    new: NewDocument
    space: EmbeddingSpace
    vectors: Vectors
    chunks: tuple[int, ...]  # ids, in the order of new.chunks


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
                known = {**state.collections, name: next(self._ids)}
                self._state = replace(state, collections=known)
        return next(found for found in self.collections() if found.name == name)

    def collections(self) -> Sequence[Collection]:
        state = self._state
        found = []
        for name, number in sorted(state.collections.items()):
            inside = state.within(name)
            chunks = sum(len(stored.chunks) for stored in inside)
            found.append(Collection(number, name, documents=len(inside), chunks=chunks))
        return found

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
            old = next((s.document for s in inside if s.document.uri == document.uri), None)
            result = Document(
                id=next(self._ids) if old is None else old.id,
                uri=document.uri,
                title=document.title,
                collection=collection,
                language=document.language,
                version=1 if old is None else old.version + 1,
                chunks=len(document.chunks),
                chars=len(document.text),
            )
            chunks = tuple(next(self._ids) for _ in document.chunks)
            stored = _Stored(result, document, space, vectors.copy(), chunks)
            self._state = replace(self._state, stored={**self._state.stored, result.id: stored})
        return result

    def delete_document(self, collection: str, document: int) -> None:
        with self._lock:
            if document not in {stored.document.id for stored in self._state.within(collection)}:
                raise NotFoundError(f"There is no document {document} in {collection!r}.")
            left = {n: stored for n, stored in self._state.stored.items() if n != document}
            self._state = replace(self._state, stored=left)

    def documents(self, collection: str) -> Sequence[Document]:
        found = [stored.document for stored in self._state.within(collection)]
        return sorted(found, key=lambda document: document.uri)

    def document(self, document: int) -> Document:
        return self._state.find(document).document

    def text(self, document: int) -> str:
        return self._state.find(document).new.text

    def pages(self, document: int) -> Sequence[Page]:
        return self._state.find(document).new.pages

    def known(self, collection: str) -> Mapping[str, tuple[str, str]]:
        news = [stored.new for stored in self._state.within(collection)]
        return {new.uri: (new.content_hash, new.fingerprint) for new in news}

    @contextmanager
    def snapshot(self) -> Iterator[FakeReader]:
        yield FakeReader(self._state)


class FakeReader:
    """One state of a `FakeStore`."""

    def __init__(self, state: _State) -> None:
        self._state = state

    def nearest(
        self,
        collection: str,
        space: EmbeddingSpace,
        vector: Vectors,
        k: int,
        where: Filter | None = None,
    ) -> Sequence[tuple[int, float]]:
        found = [
            (chunk, float(row @ vector))
            for stored in self._state.within(collection)
            if stored.space == space and (where is None or matches(where, _fields(stored)))
            for chunk, row in zip(stored.chunks, stored.vectors, strict=True)
        ]
        return sorted(found, key=lambda pair: (-pair[1], pair[0]))[:k]

    def similarities(
        self, space: EmbeddingSpace, vector: Vectors, chunks: Sequence[int]
    ) -> Mapping[int, float]:
        wanted = set(chunks)
        return {
            chunk: float(row @ vector)
            for stored in self._state.stored.values()
            if stored.space == space
            for chunk, row in zip(stored.chunks, stored.vectors, strict=True)
            if chunk in wanted
        }

    def matching(self, collection: str, where: Filter) -> Sequence[int]:
        return sorted(
            chunk
            for stored in self._state.within(collection)
            if matches(where, _fields(stored))
            for chunk in stored.chunks
        )

    def allowed(self, collection: str, chunks: Sequence[int], where: Filter) -> Sequence[int]:
        left = set(self.matching(collection, where))
        return [chunk for chunk in chunks if chunk in left]

    def vectors(self, space: EmbeddingSpace, chunks: Sequence[int]) -> Mapping[int, Vectors]:
        wanted = set(chunks)
        return {
            chunk: row
            for stored in self._state.stored.values()
            if stored.space == space
            for chunk, row in zip(stored.chunks, stored.vectors, strict=True)
            if chunk in wanted
        }

    def postings(self, collection: str, terms: Sequence[str]) -> Postings:
        import numpy as np

        chunks: dict[int, list[str]] = {}
        for stored in self._state.within(collection):
            for number, chunk in zip(stored.chunks, stored.new.chunks, strict=True):
                chunks[number] = analyse(stored.new.text[chunk.start : chunk.end])
        counts = {number: Counter(chunks[number]) for number in sorted(chunks)}
        found = {
            term: [
                (number, c[term], len(chunks[number])) for number, c in counts.items() if c[term]
            ]
            for term in set(terms)
        }
        columns = {term: list(zip(*rows, strict=True)) for term, rows in found.items() if rows}
        return Postings(
            chunks=len(chunks),
            total_length=sum(map(len, chunks.values())),
            terms={
                term: (np.array(c[0], np.int64), np.array(c[1], np.int32), np.array(c[2], np.int32))
                for term, c in columns.items()
            },
        )

    def hits(self, chunks: Sequence[int]) -> Sequence[Hit]:
        place = {
            number: (stored, chunk)
            for stored in self._state.stored.values()
            for number, chunk in zip(stored.chunks, stored.new.chunks, strict=True)
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
                text=stored.new.text[chunk.start : chunk.end],
                score=0.0,
                headings=chunk.headings,
            )
            for number, (stored, chunk) in ((n, place[n]) for n in chunks if n in place)
        ]


def _fields(stored: _Stored) -> Mapping[str, str | int]:
    document, new = stored.document, stored.new
    return {
        "document": document.id,
        "version": document.version,
        "uri": new.uri,
        "title": new.title,
        "language": new.language,
        "media_type": new.media_type,
        **{METADATA + key: value for key, value in new.metadata.items()},
    }
