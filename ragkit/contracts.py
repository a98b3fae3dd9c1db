"""The eight contracts between ragkit's parts.

Each but Refinement has an in-memory fake and a conformance suite in `ragkit.testing`; the suite of
Store tests its Reader too. A new implementation is done when the suite passes on it. Constructors
are cheap; `load` and `open` do the work.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Protocol

from ragkit.text.postings import Postings
from ragkit.types import (
    Chunk,
    Collection,
    Decoding,
    Document,
    Draft,
    EmbeddingSpace,
    Fields,
    Finish,
    Hit,
    Message,
    NewDocument,
    Page,
    Reasoning,
    Span,
    Turn,
)

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from ragkit.filters.tree import Filter

    Vectors = NDArray[np.float32]


class Embedder(Protocol):
    """Turns texts into unit vectors of one embedding space."""

    @property
    def space(self) -> EmbeddingSpace:
        """Name the space of its vectors; equal spaces mean comparable vectors. Needs `load`."""
        ...

    @property
    def max_tokens(self) -> int:
        """Count the tokens of text that fit a passage, prefix and special tokens deducted."""
        ...

    def load(self) -> None:
        """Load the model; a second call does nothing. Raises ModelError when it cannot be had."""
        ...

    def token_spans(self, text: str) -> Sequence[Span]:
        """Split text into the model's tokens, without prefix or special tokens.

        Character offsets into `text`, in order of their start, each within the text. Characters
        that the tokenizer drops (white space) belong to no span. Any length of text is taken.
        """
        ...

    def embed_passages(self, texts: Sequence[str]) -> Vectors:
        """Embed passages: shape (len(texts), dimension), float32, L2 norm 1, in the given order.

        Raises ModelError for a text of more than `max_tokens` tokens: nothing is ever cut.
        """
        ...

    def embed_query(self, text: str) -> Vectors:
        """Embed one query: shape (dimension,), float32, L2 norm 1. A long query is cut."""
        ...

    def reads(self, text: str) -> float:
        """Estimate the share of a text that the model was made to read, 0 to 1; 1 if not known."""
        ...


class Reranker(Protocol):
    """Scores passages against a query, more exactly and more slowly than a retriever."""

    @property
    def name(self) -> str:
        """Name the model and its version: of equal names, scores mean the same. Needs `load`."""
        ...

    def load(self) -> None:
        """Load the model; a second call does nothing. Raises ModelError when it cannot be had."""
        ...

    def rerank(self, query: str, passages: Sequence[str]) -> Sequence[float]:
        """Score each passage, higher is better, in the given order; none for no passages.

        Of a passage that is too long for the model, the best part counts. Raises ModelError, or
        ModelServerError naming the server that failed.
        """
        ...


class Store(Protocol):
    """Keeps collections, documents, chunks, vectors and postings of one tenant.

    Every write of a document is one transaction: a reader sees the old version or the new one.
    Methods raise DatabaseError when the database fails, NotFoundError for an unknown collection.
    """

    def create_collection(self, name: str) -> Collection:
        """Create a collection, or return the one that has that name."""
        ...

    def collections(self) -> Sequence[Collection]:
        """List the collections by name."""
        ...

    def delete_collection(self, name: str) -> None:
        """Delete a collection and everything in it at once."""
        ...

    def put_document(
        self, collection: str, document: NewDocument, space: EmbeddingSpace, vectors: Vectors
    ) -> Document:
        """Add a document, or replace the one with the same URI; `vectors` has a row per chunk.

        A document that is refused leaves the version before it intact. Raises OtherModelError for
        another space than the one that the collection's passages are in.
        """
        ...

    def active_space(self, collection: str) -> EmbeddingSpace | None:
        """Return the space that a collection is searched in; None for one without passages."""
        ...

    def delete_document(self, collection: str, document: int) -> None:
        """Delete a document everywhere at once."""
        ...

    def documents(self, collection: str) -> Sequence[Document]:
        """List a collection's documents by URI."""
        ...

    def document(self, document: int) -> Document:
        """Look one document up."""
        ...

    def text(self, document: int) -> str:
        """Return a document's canonical text, which every offset counts in."""
        ...

    def sources(self, documents: Iterable[int]) -> Mapping[int, tuple[str, Sequence[Page]]]:
        """Map documents to their text, and where their pages begin and what they are called.

        All of one moment; a document that is gone is absent.
        """
        ...

    def known(
        self, collection: str, uris: Sequence[str] | None = None
    ) -> Mapping[str, tuple[str, str]]:
        """Map URIs to the content hash and pipeline fingerprint of what was made of them.

        Of these that there are, of all for None; files that are stored as copies included.
        """
        ...

    def snapshot(self) -> AbstractContextManager[Reader]:
        """Open one consistent view for a search; writes after it began stay unseen."""
        ...


class Reader(Protocol):
    """One consistent view of a store, for the length of one search."""

    def moment(self, collection: str) -> object:
        """Name what is seen of a collection: views of equal moments find the same by words."""
        ...

    def nearest(
        self,
        collection: str,
        space: EmbeddingSpace,
        vector: Vectors,
        k: int,
        where: Filter | None = None,
    ) -> Sequence[tuple[int, float]]:
        """Find the k chunks of highest cosine: (chunk id, cosine), best first.

        Always k of them when the collection has k vectors in that space, of documents that the
        filter is true of. Raises OtherModelError when it is searched in another space.
        """
        ...

    def similarities(
        self, space: EmbeddingSpace, vector: Vectors, chunks: Sequence[int]
    ) -> Mapping[int, float]:
        """Compute the cosine of each of these chunks; one without a vector there is absent."""
        ...

    def matching(self, collection: str, where: Filter) -> Sequence[int]:
        """List the chunks of documents that a filter is true of, by their ids in ascending order.

        See `ragkit.filters.tree.matches` for what a filter means. Here and wherever else there is
        one, raises QueryError for a field that no document of a collection with documents has.
        """
        ...

    def allowed(self, collection: str, chunks: Sequence[int], where: Filter) -> Sequence[int]:
        """Return those of these chunks whose documents a filter is true of, in the given order."""
        ...

    def vectors(self, space: EmbeddingSpace, chunks: Sequence[int]) -> Mapping[int, Vectors]:
        """Fetch the vectors of these chunks, each of shape (dimension,); absent where none is."""
        ...

    def analyser(self, collection: str) -> str:
        """Name the analyser of a collection's words: see `ragkit.text.analysers`."""
        ...

    def postings(self, collection: str, terms: Sequence[str]) -> Postings:
        """Fetch the postings of the given terms."""
        ...

    def beginning_or_ending(self, collection: str, character: str) -> Sequence[str]:
        """List the indexed terms of two characters that begin or end with this one, and itself."""
        ...

    def hits(self, chunks: Sequence[int]) -> Sequence[Hit]:
        """Fetch chunks by id with text, lead, parent and document, in the given order, score 0.

        Chunks that are gone are left out. The words of a lead are the chunk's in the word index.
        """
        ...

    def around(self, chunks: Sequence[int], reach: int) -> Mapping[int, Sequence[Chunk]]:
        """Describe what stands around each of these chunks, by ordinal, the chunk itself included:
        the chunks of its document at most `reach` ordinals away. A chunk that is gone is absent.
        """
        ...

    def excerpts(self, places: Sequence[tuple[int, Span]]) -> Sequence[str]:
        """Cut pieces out of documents' stored texts, in the given order; "" of one that is gone."""
        ...

    def fields(self, collection: str) -> Fields:
        """Gather what the collection's latest documents have, the latest thousand or more."""
        ...


class Retriever(Protocol):
    """Finds the chunks that answer a query."""

    def search(self, query: str, *, k: int) -> Sequence[Hit]:
        """Return at most k hits, best first. Raises QueryError for a query without content."""
        ...


class Refinement(Protocol):
    """A step that reorders, drops or widens the hits of a search, after both legs were fused."""

    @property
    def name(self) -> str:
        """Name the step, as traces show it."""
        ...

    def refine(self, query: str, hits: Sequence[Hit]) -> Sequence[Hit]:
        """Return the hits that are left, best first; none for none. It never adds a document.

        No transaction is open meanwhile: a hit's document may have changed since it was found.
        """
        ...


class LanguageModel(Protocol):
    """Continues a chat: a server, several that stand in for each other, or a model in process."""

    @property
    def name(self) -> str:
        """Name the model, as messages and records should show it."""
        ...

    def stream(
        self, messages: Sequence[Message], decoding: Decoding | None = None
    ) -> Iterator[str | Reasoning | Finish]:
        """Yield the text and the reasoning in pieces as they come, then exactly one Finish, last.

        `decoding` takes the place of the settings' for this call. Closing the iterator stops the
        model within a second. Raises ModelServerError, IncompleteAnswerError once text has come.
        """
        ...

    def context_tokens(self) -> int | None:
        """Return how many tokens prompt and answer may have together; None when nobody knows."""
        ...

    def count_tokens(self, texts: Sequence[str]) -> Sequence[int]:
        """Count each text's tokens with the model's own tokenizer, or estimate rather too many."""
        ...


class Generator(Protocol):
    """Writes an answer to a question from passages."""

    def generate(
        self, question: str, passages: Sequence[Hit], *, history: Sequence[Turn] = ()
    ) -> Iterator[str | Reasoning | Draft]:
        """Yield the answer's text in pieces as they come, then exactly one Draft, last.

        The draft's text is the pieces joined; its citations' offsets count in the documents'
        stored text. A refusal has no citations and says why in `reason`; without passages every
        generator refuses. `history` are the conversation's turns before, oldest first, which may
        be ignored. Raises ModelServerError, IncompleteAnswerError once text has come.
        """
        ...
