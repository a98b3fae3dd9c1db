"""Ask a knowledge base items, each in a thread.

A response's detail holds the answer, passages and labels, so that it can be shown and scored again.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, Final

from ragkit.answer.meaning import Meaning
from ragkit.answer.refuse.cutoff import signals
from ragkit.answer.write.llm import CUT_SHORT
from ragkit.cli.render import answer_json, hit_json
from ragkit.errors import ModelError, QueryError
from ragkit.question.reading import read_question
from ragkit.retrieve.words.weights import term_weights
from ragkit.types import Answer, Copy, Hit, Reasoning
from ragkit_eval.run.item import Ask, Item, Response

if TYPE_CHECKING:
    from ragkit.knowledge.base import KnowledgeBase

DEPTH: Final = 50  # passages of a search, so that they cover ten documents
TEXTS: Final = 10  # passages stored with their text: fifty would be most of a run's size
_THREADS: Final = 64  # at most; threads start as needed, and the runner bounds them
_CUT_SHORT: Final = CUT_SHORT.partition("{")[0]

Respond = Callable[[Item], Response]


def knowledge_ask(kb: KnowledgeBase) -> Ask:
    """Return a function that asks a knowledge base an item's question, with its own settings.

    `detail` is the answer's JSON with its passages, the item's labels, and "confidence", 0 to 1:
    the estimate, made before answering, that the passages answer the question.
    """
    return _Threaded(lambda item: _answer_item(kb, item))


def search_ask(kb: KnowledgeBase, *, k: int = DEPTH) -> Ask:
    """Return a function that searches for an item's question: at most k passages, best first.

    The response's text lists the documents in the order of their best passages; `detail` has the
    passages, the first ten with their text, and the item's labels.
    """
    return _Threaded(lambda item: _search_item(kb, item, k))


class _Threaded:
    """An `Ask` that runs a function in threads; the threads end with it."""

    def __init__(self, respond: Respond) -> None:
        self._respond = respond
        self._pool = ThreadPoolExecutor(_THREADS, thread_name_prefix="ragkit-eval")

    async def __call__(self, item: Item) -> Response:
        return await asyncio.get_running_loop().run_in_executor(self._pool, self._respond, item)


def _answer_item(kb: KnowledgeBase, item: Item) -> Response:
    started = time.perf_counter()
    first: float | None = None
    answer: Answer | None = None
    try:
        for piece in kb.stream(item.question):
            if isinstance(piece, Answer):
                answer = piece
            elif first is None and not isinstance(piece, Reasoning):
                first = time.perf_counter() - started
    except QueryError as error:
        raise ModelError(str(error)) from error  # the failure of this question, not of the run
    assert answer is not None, "a stream ends with an Answer"
    latency_s = time.perf_counter() - started
    return Response(
        text=answer.text,
        finish="length" if answer.reason.startswith(_CUT_SHORT) else "stop",
        usage=answer.usage,
        latency_s=latency_s,
        first_token_s=first,
        detail={
            **answer_json(answer),
            "prompt_version": answer.prompt,
            "hits": [hit_json(hit) for hit in answer.hits],
            # As packed into the prompt, where a passage may have another length.
            "used": [_passage_json(hit, text=True) for hit in answer.used],
            "confidence": _estimate_confidence(kb, item.question, answer.hits),
            "labels": item.extra,
        },
    )


def _estimate_confidence(kb: KnowledgeBase, question: str, hits: Sequence[Hit]) -> float:
    """Return the probability that the passages answer the question, without a calibration.

    It is comparable between collections.
    """
    parsed = read_question(question)
    weights = term_weights(kb.store, kb.collection, parsed.content)
    signal = signals(parsed, hits, weights, model=Meaning(kb.embedder).model())
    return round(signal.probability, 6)


def _search_item(kb: KnowledgeBase, item: Item, k: int) -> Response:
    started = time.perf_counter()
    try:
        hits = kb.search(item.question, k=k)
    except QueryError as error:
        raise ModelError(str(error)) from error
    latency_s = time.perf_counter() - started
    passages = [_passage_json(hit, text=rank < TEXTS) for rank, hit in enumerate(hits)]
    return Response(
        text="\n".join(rank_documents(passages)),
        finish="stop",
        latency_s=latency_s,
        detail={"hits": passages, "labels": item.extra},
    )


def rank_documents(passages: Iterable[Mapping[str, Any]]) -> list[str]:
    """Return the documents of passages in the order of their best passages."""
    return list(dict.fromkeys(place["uri"] for place in list_places(passages)))


def list_places(passages: Iterable[Mapping[str, Any]]) -> Iterator[Mapping[str, Any]]:
    """Yield the place of each passage, then those of its duplicates."""
    for passage in passages:
        yield passage
        yield from passage.get("duplicates", ())  # absent in runs of earlier versions


def _passage_json(hit: Hit, *, text: bool) -> Mapping[str, Any]:
    values = _place_json(hit)
    if hit.duplicates:
        values["duplicates"] = [_place_json(copy) for copy in hit.duplicates]
    return values | {"text": hit.text} if text else values


def _place_json(place: Hit | Copy) -> dict[str, Any]:
    return {
        "document": place.document,
        "uri": place.uri,
        "start": place.start,
        "end": place.end,
    }
