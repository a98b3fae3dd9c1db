"""A database in which much is hidden from somebody."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import pytest

from ragkit.contracts import Embedder
from ragkit.knowledge.base import KnowledgeBase
from ragkit.store.documents.sharing import Change, Shares, principals
from ragkit.store.open import Database
from ragkit.store.postgres import PostgresStore
from ragkit.testing.answering import FakeGenerator
from ragkit.testing.corpus import fill, new_document
from ragkit.testing.embedder import FakeEmbedder
from tests.databases import Databases

ADA: Final = principals("ada")
HR: Final = principals("bob", ["hr"])
SHOWN: Final = [new_document(f"shown{n}.md", f"The wombat {n} digs.") for n in range(5)]
# Each says more of wombats than the others, so that these come first wherever they count.
HIDDEN: Final = [
    new_document(f"hidden{n}.md", "wombat wombat merger", "A second part.", title="merger")
    for n in range(40)
]
CLOSED: Final = new_document("closed.md", "The closed wombat knows of the merger.", title="merger")


@dataclass(frozen=True)
class Place:
    """A collection "open" that hides documents from ada, and one, "closed", that is not for her."""

    database: Database
    embedder: Embedder
    shown: tuple[int, ...]
    hidden: tuple[int, ...]
    closed: int
    hidden_chunks: tuple[int, ...]

    def store(self, readers: tuple[str, ...] | None) -> PostgresStore:
        return self.database.store("default", readers=readers)

    def knowledge(self, readers: tuple[str, ...] | None, collection: str = "open") -> KnowledgeBase:
        return KnowledgeBase(
            self.store(readers), self.embedder, FakeGenerator(), collection=collection
        )


@pytest.fixture(scope="package")
def place(databases: Databases) -> Iterator[Place]:
    with databases.open() as database:
        embedder = FakeEmbedder()
        store = database.store("default")
        shown = fill(store, embedder, SHOWN, "open")
        hidden = fill(store, embedder, HIDDEN, "open")
        (closed,) = fill(store, embedder, [CLOSED], "closed")
        shares = Shares(database.pool, "default")
        for document in hidden:
            shares.document(document.id, Change(add=("group:hr",)))
        shares.collection("closed", Change(add=("group:hr",)))
        with database.pool.connection() as conn:
            rows = conn.execute(
                "SELECT k.id FROM chunk k JOIN document d ON d.id = k.document_id"
                " WHERE d.uri LIKE 'hidden%' OR d.uri = 'closed.md' ORDER BY k.id"
            ).fetchall()
        yield Place(
            database,
            embedder,
            tuple(one.id for one in shown),
            tuple(one.id for one in hidden),
            closed.id,
            tuple(row[0] for row in rows),
        )
