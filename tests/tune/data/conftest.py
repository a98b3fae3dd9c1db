"""What tests of rows share: a database for each file of tests, and a collection in it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from ragkit.knowledge.base import KnowledgeBase
from ragkit.store.open import Database
from tests.databases import Databases
from tests.tune.data.corpora import documents, store_documents


@pytest.fixture(scope="module")
def database(databases: Databases) -> Iterator[Database]:
    with databases.open() as opened:
        yield opened


@pytest.fixture(scope="module")
def kb(database: Database) -> KnowledgeBase:
    return store_documents(database, "plants", documents())
