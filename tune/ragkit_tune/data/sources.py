"""The stored documents of a collection: texts, passages, and the names that mean a document."""

from __future__ import annotations

from bisect import bisect_right
from collections import OrderedDict, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from ragkit.documents.names import stem
from ragkit.errors import UsageError
from ragkit.filters.tree import Comparison
from ragkit.types import Document, Hit, Span

if TYPE_CHECKING:
    from ragkit.contracts import Store

MAX_CACHED: Final = 200  # documents whose text and passages stay in memory; arbitrary
HELD: Final = 0.5  # of a span that its passage holds at least; arbitrary


@dataclass(frozen=True, slots=True)
class Source:
    """A document with its text and its passages, in their order."""

    document: Document
    text: str
    passages: tuple[Hit, ...]

    def holding(self, span: Span) -> Hit | None:
        """Return the passage that holds most of a span; None if none holds half of it.

        Of a span that is longer than its passages, one that lies in it entirely will do.
        """
        best, largest = None, 0
        end = bisect_right(self.passages, span.end, key=lambda passage: passage.start)
        for passage in self.passages[:end]:
            overlap = min(passage.end, span.end) - max(passage.start, span.start)
            if overlap > largest:
                best, largest = passage, overlap
        if best is None or largest < HELD * min(span.end - span.start, best.end - best.start):
            return None
        return best


class Sources:
    """Reads the documents of a collection, and finds them by their names.

    Raises UsageError for a collection without documents.
    """

    def __init__(self, store: Store, collection: str) -> None:
        self.store = store
        self.collection = collection
        self.documents = tuple(sorted(store.documents(collection), key=lambda row: row.uri))
        if not self.documents:
            raise UsageError(
                f"collection {collection!r} has no documents: take some in with"
                f" `ragkit ingest FOLDER --collection {collection}`"
            )
        self._by_uri = {document.uri: document for document in self.documents}
        self._cached: OrderedDict[int, Source] = OrderedDict()
        self._names: _Names | None = None

    def at(self, uri: str) -> Document | None:
        """Return the document that is stored under a URI."""
        return self._by_uri.get(uri)

    def read(self, document: Document) -> Source:
        """Read one document's text and passages."""
        source = self._cached.pop(document.id, None)
        if source is None:
            source = _read(self.store, document)
        self._cached[document.id] = source
        while len(self._cached) > MAX_CACHED:
            self._cached.popitem(last=False)
        return source

    def named(self, name: str) -> Sequence[Document]:
        """List the documents that a name means: a URI, the end of one, or a file's name.

        Of files that are copies, the stored document is meant. Several: the name is ambiguous.
        """
        if name in self._by_uri:
            return [self._by_uri[name]]
        if self._names is None:
            self._names = _Names(_find_copies(self.store, self.collection, self.documents))
        uris = dict.fromkeys(self._names.find(name))
        return [self._by_uri[uri] for uri in uris]


class _Names:
    """Finds the URI of a stored document by the URI of a file, an end of it, or its stem."""

    def __init__(self, files: dict[str, str]) -> None:
        self._files = files
        self._ends: dict[str, list[str]] = defaultdict(list)
        self._stems: dict[str, list[str]] = defaultdict(list)
        for uri in files:
            self._ends[_last(uri)].append(uri)
            self._stems[stem(uri)].append(uri)

    def find(self, name: str) -> list[str]:
        if name in self._files:
            return [self._files[name]]
        last = _last(name)
        ends = [uri for uri in self._ends[last] if uri.endswith(f"/{name}") or name == last]
        return [self._files[uri] for uri in ends or self._stems[name]]


def _last(uri: str) -> str:
    return uri.rpartition("/")[2]


def _find_copies(store: Store, collection: str, stored: Sequence[Document]) -> dict[str, str]:
    """Map each file of a collection to the URI of the document that has its content."""
    contents = {uri: content for uri, (content, _) in store.known(collection).items()}
    holders = {contents[row.uri]: row.uri for row in stored if row.uri in contents}
    copies = {uri: holders[content] for uri, content in contents.items() if content in holders}
    return copies | {row.uri: row.uri for row in stored}


def _read(store: Store, document: Document) -> Source:
    text = store.text(document.id)
    with store.snapshot() as reader:
        chunks = reader.matching(document.collection, Comparison("eq", "document", (document.id,)))
        passages = reader.hits(chunks)
    # A document that was replaced between the two reads has passages of another text.
    exact = [hit for hit in passages if hit.text == text[hit.start : hit.end]]
    return Source(document, text, tuple(sorted(exact, key=lambda hit: (hit.start, hit.end))))
