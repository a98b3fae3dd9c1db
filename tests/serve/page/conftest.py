"""What tests of the chat page share: a database with documents, and the app over it."""

from __future__ import annotations

import uuid
from collections.abc import Iterator

import pytest
from fastapi import FastAPI
from pydantic import SecretStr

from ragkit import Settings
from ragkit.access.library import Caller, Library
from ragkit.contracts import Embedder
from ragkit.store.open import Database, open_database
from ragkit.testing.corpus import CORPUS, fill, new_document
from ragkit_serve.api.app import create_app
from ragkit_serve.api.services import Services
from tests.databases import Databases

MANUAL = new_document("manual.md", "The pump runs at 900 revolutions a minute.", title="Pump")


@pytest.fixture(scope="module")
def url(databases: Databases) -> Iterator[str]:
    """The address of a database of the module's own."""
    with databases.take() as url:
        yield url


@pytest.fixture(scope="module")
def database(url: str, loaded_embedder: Embedder) -> Iterator[Database]:
    """Collections default and manuals of tenant default, and a collection of another tenant."""
    with open_database(Settings(database_url=SecretStr(url))) as database:
        store = database.store("default")
        fill(store, loaded_embedder, CORPUS)
        fill(store, loaded_embedder, [MANUAL], collection="manuals")
        fill(database.store("other"), loaded_embedder, [new_document("vault.md", "Code 4711.")])
        yield database


@pytest.fixture(scope="module")
def services(
    database: Database,
    url: str,
    loaded_embedder: Embedder,
    tmp_path_factory: pytest.TempPathFactory,
) -> Services:
    settings = Settings(database_url=SecretStr(url), home=tmp_path_factory.mktemp("home"))
    library = Library(settings, database)
    library.embedder = library.embedders.default = loaded_embedder
    return Services(settings, database, library)


@pytest.fixture
def caller() -> Caller:
    """Somebody new who may do everything in tenant default."""
    return Caller("default", uuid.uuid4().hex, scopes=("read", "write", "admin"))


@pytest.fixture(scope="module")
def app(services: Services) -> FastAPI:
    return create_app(services, ui=True)
