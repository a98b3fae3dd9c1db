"""Search and ask as a whole, over the fakes: what a knowledge base adds to its parts."""

from collections.abc import Sequence

import pytest

from ragkit import Answer, KnowledgeBase
from ragkit.answer.extract import ExtractiveGenerator
from ragkit.answer.llm import ChatGenerator
from ragkit.contracts import Generator
from ragkit.errors import NotFoundError
from ragkit.model.served import ServedModel
from ragkit.testing import FakeEmbedder, FakeStore
from ragkit.types import Chunk, NewDocument, Page
from ragkit_serve import StubServer

FIRST = "The bridge is painted grey."
SECOND = "It was opened in 1932 by the king."


@pytest.fixture
def store() -> FakeStore:
    """One document of two pages in one chunk."""
    text = f"{FIRST}\n\n{SECOND}"
    embedder = FakeEmbedder()
    embedder.load()
    document = NewDocument(
        uri="bridge.pdf",
        content_hash="1",
        fingerprint="f",
        text=text,
        chunks=(Chunk(0, 0, len(text), 14, page=1),),
        title="Bridge",
        pages=(Page(0, 1), Page(len(FIRST) + 2, 2)),
    )
    made = FakeStore()
    made.create_collection("default")
    made.put_document("default", document, embedder.space, embedder.embed_passages([text]))
    return made


def knowledge_base(store: FakeStore, generator: Generator) -> KnowledgeBase:
    return KnowledgeBase(store, FakeEmbedder(), generator, collection="default")


def test_a_citation_names_the_page_of_its_quotation_not_of_its_passage(store: FakeStore) -> None:
    answer = knowledge_base(store, ExtractiveGenerator()).ask("When was the bridge opened?")
    first = answer.citations[0]
    assert (first.quote, first.page, first.verdict) == (SECOND, 2, "verified")
    assert store.text(first.document)[first.start : first.end] == SECOND


def test_a_stream_is_the_text_in_pieces_and_then_the_answer(store: FakeStore) -> None:
    *pieces, answer = knowledge_base(store, ExtractiveGenerator()).stream("When was it opened?")
    assert isinstance(answer, Answer)
    assert "".join(_texts(pieces)) == answer.text
    assert set(answer.timings) == {"retrieve", "generate", "verify"}


def test_a_language_models_wrong_number_is_marked(store: FakeStore) -> None:
    with StubServer(lambda messages: "It was opened in 1933 [1].") as server:
        generator = ChatGenerator(ServedModel([server.url], "stub"))
        answer = knowledge_base(store, generator).ask("When was the bridge opened?")
    assert answer.unverified == ("1933",)
    assert [citation.verdict for citation in answer.citations] == ["verified"]


def test_an_unknown_collection_is_named(store: FakeStore) -> None:
    kb = KnowledgeBase(store, FakeEmbedder(), ExtractiveGenerator(), collection="nowhere")
    with pytest.raises(NotFoundError, match="nowhere"):
        kb.ask("When?")


def _texts(pieces: Sequence[str | Answer]) -> list[str]:
    assert all(isinstance(piece, str) for piece in pieces)
    return [piece for piece in pieces if isinstance(piece, str)]
