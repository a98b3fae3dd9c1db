"""A small knowledge base over the fakes, and real PostgreSQL for its conversations."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator

import pytest
from pydantic import SecretStr

from ragkit import KnowledgeBase, Settings
from ragkit.answer.write.extract import ExtractiveGenerator
from ragkit.answer.write.llm import ChatGenerator
from ragkit.contracts import LanguageModel
from ragkit.conversation import Conversation
from ragkit.store.open import Database, open_database
from ragkit.store.people.conversations import Conversations
from ragkit.testing import FakeEmbedder, FakeStore
from ragkit.testing.corpus import CORPUS, fill
from tests.databases import Databases

Talk = Callable[..., Conversation]


@pytest.fixture(scope="module")
def settings(databases: Databases) -> Iterator[Settings]:
    """Settings for a database of the module's own."""
    with databases.take() as url:
        yield Settings(database_url=SecretStr(url))


@pytest.fixture(scope="module")
def database(settings: Settings) -> Iterator[Database]:
    with open_database(settings) as database:
        yield database


@pytest.fixture
def store() -> FakeStore:
    embedder = FakeEmbedder()
    embedder.load()
    made = FakeStore()
    fill(made, embedder, CORPUS)
    return made


@pytest.fixture
def talk(database: Database, store: FakeStore) -> Talk:
    """Begin a conversation, with a language model or without."""

    principal = uuid.uuid4().hex  # a new one for each test

    def begin(model: LanguageModel | None = None, *, history_tokens: int = 1000) -> Conversation:
        generator = ExtractiveGenerator() if model is None else ChatGenerator(model)
        return Conversation(
            KnowledgeBase(store, FakeEmbedder(), generator, collection="default"),
            Conversations(database.pool, "default", principal),
            model=model,
            history_tokens=history_tokens,
        )

    return begin
