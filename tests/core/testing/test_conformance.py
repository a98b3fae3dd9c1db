"""The contracts' suites on the implementations that no other file runs them on."""

from collections.abc import Iterator

import pytest

from ragkit.answer.write.extract import ExtractiveGenerator
from ragkit.answer.write.llm import ChatGenerator
from ragkit.contracts import Embedder, Generator
from ragkit.embed.local import LocalEmbedder
from ragkit.model.served import ServedModel
from ragkit.testing import EmbedderConformance, GeneratorConformance
from ragkit_serve import StubServer


@pytest.fixture(scope="module")
def loaded() -> LocalEmbedder:
    embedder = LocalEmbedder()
    embedder.load()
    return embedder


@pytest.fixture(scope="module")
def stub() -> Iterator[StubServer]:
    with StubServer() as server:
        yield server


class TestLocalEmbedder(EmbedderConformance):
    @pytest.fixture
    def embedder(self, loaded: LocalEmbedder) -> Embedder:
        return loaded


class TestExtractiveGenerator(GeneratorConformance):
    @pytest.fixture
    def generator(self) -> Generator:
        return ExtractiveGenerator()


class TestChatGenerator(GeneratorConformance):
    @pytest.fixture
    def generator(self, stub: StubServer) -> Generator:
        return ChatGenerator(ServedModel([stub.url], "stub"))
