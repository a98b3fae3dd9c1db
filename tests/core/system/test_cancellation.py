"""Work that is cancelled ends at its next step, wherever that is."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import AsyncGenerator, Callable, Sequence
from contextvars import copy_context
from dataclasses import replace
from typing import Any

import httpx
import pytest

from ragkit.contracts import Embedder
from ragkit.embed.local import LocalEmbedder, _Loaded
from ragkit.knowledge.cosine_reranker import CosineReranker
from ragkit.model.batching import BATCH
from ragkit.model.bridge import Pieces
from ragkit.rerank.parts import score_in_parts
from ragkit.rerank.server import ServerReranker
from ragkit.retrieve.pipeline import Pipeline
from ragkit.system.cancellation import Cancellation, WorkCancelledError, check_cancelled
from ragkit.types import Hit, SearchResult

TEXTS = ["Everybody has twenty-eight days of leave in every year. " * 8] * 64


def test_work_outside_of_a_cancellation_is_never_cancelled() -> None:
    with Cancellation() as cancellation:
        cancellation.cancel()
        with pytest.raises(WorkCancelledError):
            check_cancelled()
    check_cancelled()


def test_a_thread_that_is_started_in_the_context_is_cancelled_too() -> None:
    seen: list[bool] = []

    def work() -> None:
        try:
            check_cancelled()
        except WorkCancelledError:
            seen.append(True)

    with Cancellation() as cancellation:
        cancellation.cancel()
        thread = threading.Thread(target=copy_context().run, args=(work,))
        thread.start()
        thread.join(60)
    assert seen == [True]


def test_a_stream_that_is_cut_off_is_not_taken_for_a_short_one() -> None:
    async def endless() -> AsyncGenerator[int, None]:
        yield 1
        await asyncio.sleep(3600)

    with Cancellation() as cancellation:
        pieces = Pieces(endless())
        assert next(pieces) == 1
        cancellation.cancel()
        with pytest.raises(WorkCancelledError):
            next(pieces)


def _embed(embedder: Embedder) -> Any:
    return embedder.embed_passages(TEXTS)


def _rerank(embedder: Embedder) -> Any:
    return CosineReranker(embedder).rerank("days of leave", TEXTS)


@pytest.mark.parametrize("work", [_embed, _rerank])
def test_embedding_ends_after_the_batch_it_is_at(
    loaded_embedder: LocalEmbedder,
    monkeypatch: pytest.MonkeyPatch,
    work: Callable[[Embedder], Any],
) -> None:
    batches: list[int] = []
    cancellation = Cancellation()
    encode = _Loaded.encode

    def counting(self: _Loaded, rows: Sequence[Any]) -> Any:
        batches.append(len(rows))
        cancellation.cancel()
        return encode(self, rows)

    monkeypatch.setattr(_Loaded, "encode", counting)
    with cancellation, pytest.raises(WorkCancelledError):
        work(loaded_embedder)
    assert len(batches) == 1
    assert batches[0] < len(TEXTS)


def test_scoring_ends_after_the_batch_it_is_at(loaded_embedder: LocalEmbedder) -> None:
    batches: list[int] = []
    cancellation = Cancellation()

    def score(pieces: list[str]) -> Sequence[float]:
        batches.append(len(pieces))
        cancellation.cancel()
        return [0.0] * len(pieces)

    with cancellation, pytest.raises(WorkCancelledError):
        score_in_parts(
            TEXTS, loaded_embedder._ready.tokens, score, room=128, query_tokens=4, batch_tokens=1024
        )
    assert len(batches) == 1


def test_a_reranking_server_is_asked_for_no_further_batch() -> None:
    asked: list[int] = []
    cancellation = Cancellation()

    def answer(request: httpx.Request) -> httpx.Response:
        documents = json.loads(request.content)["documents"]
        asked.append(len(documents))
        if len(documents) == BATCH:
            cancellation.cancel()
        rows = [{"index": n, "relevance_score": 0.5} for n in range(len(documents))]
        return httpx.Response(200, json={"results": rows})

    reranker = ServerReranker("http://reranker/rerank", transport=httpx.MockTransport(answer))
    with cancellation, pytest.raises(WorkCancelledError):
        reranker.rerank("leave", ["text"] * (3 * BATCH))
    assert asked == [1, BATCH]  # to find its form, and the first


class _Legs:
    """A retriever that gives the same hits at any time."""

    def __init__(self, hit: Hit, then: Callable[[], None]) -> None:
        self.hit, self.then = hit, then

    def find(self, query: object, *, k: int) -> SearchResult:
        self.then()
        return SearchResult((self.hit,), ())


class _Step:
    def __init__(self, name: str, log: list[str], then: Callable[[], None]) -> None:
        self.name, self.log, self.then = name, log, then

    def refine(self, query: str, hits: Sequence[Hit]) -> Sequence[Hit]:
        self.log.append(self.name)
        self.then()
        return hits


HIT = Hit(
    chunk=1, document=1, version=1, uri="a", title="a", text="Leave.", start=0, end=6,
    page=None, headings=(), score=1.0, scores={},
)  # fmt: skip


@pytest.mark.parametrize(("at", "steps"), [("legs", []), ("a", ["a"]), ("b", ["a", "b"])])
def test_a_search_ends_after_the_step_it_is_at(at: str, steps: list[str]) -> None:
    log: list[str] = []
    cancellation = Cancellation()

    def then(name: str) -> Callable[[], None]:
        return cancellation.cancel if name == at else lambda: None

    legs: Any = _Legs(replace(HIT), then("legs"))
    refinements = [_Step(name, log, then(name)) for name in ("a", "b")]
    pipeline = Pipeline(legs, refinements=refinements, widening=[_Step("c", log, then("c"))])
    with cancellation, pytest.raises(WorkCancelledError):
        pipeline.find("leave", k=1)
    assert log == steps
