"""Rank what a splitter made for each question: by cosine alone, and by both legs of the search.

It knows nothing of splitters and of what the questions' right answers are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from benchmarks.excerpts import Stretch
from benchmarks.homes import passable_folder
from ragkit import Settings
from ragkit.retrieve.search import HybridRetriever
from ragkit.store.open import open_database
from ragkit.types import Chunk, NewDocument

if TYPE_CHECKING:
    from benchmarks.splitters_kept import Kept
    from ragkit.contracts import Vectors
    from ragkit.embed.local import LocalEmbedder
    from ragkit.store.postgres import PostgresStore

DEPTH = 60  # stretches ranked: 1,000 tokens of the smallest


@dataclass(frozen=True, slots=True)
class Piece:
    """A chunk of a document's text, and what is embedded of it."""

    document: str
    text: str
    chunk: Chunk
    embedded: str

    def shown(self, embedder: LocalEmbedder) -> Stretch:
        """Return what is shown where the chunk is found: its parent, where it has one."""
        shown = self.chunk.parent or self.chunk
        tokens = self.chunk.tokens
        if self.chunk.parent:
            tokens = len(embedder.token_spans(self.text[shown.start : shown.end]))
        return Stretch(self.document, shown.start, shown.end, tokens)


# (pieces, questions) -> for each question the pieces' numbers, best first
Search = Callable[[Sequence[Piece], Sequence[str]], Sequence[Sequence[int]]]


def by_cosine(kept: Kept, pieces: Sequence[Piece], questions: Sequence[str]) -> list[list[int]]:
    """Rank by nearness alone; children of one parent follow each other as they come."""
    queries = np.stack([kept.query(question) for question in questions])
    scores = queries @ kept.passages([piece.embedded for piece in pieces]).T
    ranked: list[list[int]] = np.argsort(-scores, axis=1, kind="stable")[:, : DEPTH * 4].tolist()
    return ranked


@contextmanager
def searches(kept: Kept) -> Iterator[Search]:
    """Lend ragkit's own search, on a database of its own that is gone afterwards."""
    with (
        passable_folder() as folder,
        open_database(Settings(home=Path(folder, "home"))) as database,
    ):
        store = database.store("default")
        yield lambda pieces, questions: _by_both(store, kept, pieces, questions)


def _by_both(
    store: PostgresStore, kept: Kept, pieces: Sequence[Piece], questions: Sequence[str]
) -> list[list[int]]:
    name = f"row-{len(store.collections())}"
    store.create_collection(name)
    store.put_documents(name, list(_documents(kept, pieces, name)), kept.embedder.space)
    store.finish_load(name, kept.embedder.space)
    retriever = HybridRetriever(store, _Asking(kept), name)
    places: dict[tuple[str, int, int], int] = {}
    for number, piece in enumerate(pieces):
        places.setdefault((piece.document, piece.chunk.start, piece.chunk.end), number)
    return [
        [places[hit.uri, hit.start, hit.end] for hit in retriever.search(question, k=DEPTH)]
        for question in questions
    ]


def _documents(
    kept: Kept, pieces: Sequence[Piece], row: str
) -> Iterator[tuple[NewDocument, Vectors]]:
    for uri, group in groupby(pieces, key=lambda piece: piece.document):
        own = list(group)
        document = NewDocument(
            uri=uri,
            content_hash=f"{row}/{uri}",
            fingerprint=row,
            text=own[0].text,
            chunks=tuple(piece.chunk for piece in own),
        )
        yield document, kept.passages([piece.embedded for piece in own])


class _Asking:
    """The embedder, with the questions' vectors kept."""

    def __init__(self, kept: Kept) -> None:
        self._kept = kept
        self.space = kept.embedder.space
        self.max_tokens = kept.embedder.max_tokens

    def embed_query(self, text: str) -> Vectors:
        return self._kept.query(text)

    def __getattr__(self, name: str) -> object:
        return getattr(self._kept.embedder, name)
