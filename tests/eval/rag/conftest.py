"""A knowledge base over the fakes, for all tests of evaluating one."""

import pytest

from ragkit import KnowledgeBase
from ragkit.answer.write.extract import ExtractiveGenerator
from ragkit.testing import CORPUS, FakeEmbedder, FakeStore, fill


@pytest.fixture
def kb() -> KnowledgeBase:
    """Three documents of two passages: wings.md, leave.md and 差旅.md."""
    embedder = FakeEmbedder()
    embedder.load()
    store = FakeStore()
    store.create_collection("default")
    fill(store, embedder, CORPUS)
    return KnowledgeBase(store, embedder, ExtractiveGenerator(), collection="default")
