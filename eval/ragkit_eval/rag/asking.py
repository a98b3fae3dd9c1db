"""A knowledge base as something that answers items, each in a thread of its own.

What it says is kept whole, passages and labels too, so that an answer can be shown and scored
again. Knows nothing of how it is scored.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, Final

from ragkit.answer.cutoff import signals
from ragkit.answer.llm import CUT_SHORT
from ragkit.answer.meaning import Meaning
from ragkit.answer.question import read_question
from ragkit.errors import ModelError, QueryError
from ragkit.render import answer_json, hit_json
from ragkit.retrieve.words.weights import term_weights
from ragkit.types import Answer, Copy, Hit, Reasoning
from ragkit_eval.item import Ask, Item, Response

if TYPE_CHECKING:
    from ragkit.knowledge import KnowledgeBase

DEPTH: Final = 50  # passages searched for, so that ten documents are among them
TEXTS: Final = 10  # of these that a run keeps with their text: fifty would be nearly all of it
_THREADS: Final = 64  # at most; they are made as they are needed, and the runner bounds them
_CUT: Final = CUT_SHORT.partition("{")[0]

Respond = Callable[[Item], Response]


def knowledge_ask(kb: KnowledgeBase) -> Ask:
    """Ask a knowledge base each item's question, as it stands: passages, mode, generator.

    `detail` is the answer's JSON with its passages, the item's labels, and how much spoke for an
    answer before there was one ("confidence", 0 to 1).
    """
    return _Threaded(lambda item: _asked(kb, item))


def search_ask(kb: KnowledgeBase, *, k: int = DEPTH) -> Ask:
    """Search a knowledge base for each item's question: at most k passages, best first.

    The response's text names the documents, each where its best passage stands; `detail` has the
    passages, the first ten with their text, and the item's labels.
    """
    return _Threaded(lambda item: _searched(kb, item, k))


class _Threaded:
    """Fulfils `ragkit_eval.item.Ask`; the threads end with it."""

    def __init__(self, respond: Respond) -> None:
        self._respond = respond
        self._pool = ThreadPoolExecutor(_THREADS, thread_name_prefix="ragkit-eval")

    async def __call__(self, item: Item) -> Response:
        return await asyncio.get_running_loop().run_in_executor(self._pool, self._respond, item)


def _asked(kb: KnowledgeBase, item: Item) -> Response:
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
        raise ModelError(str(error)) from error  # this question's failure, not the run's
    assert answer is not None, "a stream ends with an Answer"
    latency_s = time.perf_counter() - started
    return Response(
        text=answer.text,
        finish="length" if answer.reason.startswith(_CUT) else "stop",
        usage=answer.usage,
        latency_s=latency_s,
        first_token_s=first,
        detail={
            **answer_json(answer),
            "prompt_version": answer.prompt,
            "hits": [hit_json(hit) for hit in answer.hits],
            # As they were packed, which may be another cut than was found.
            "used": [_passage(hit, text=True) for hit in answer.used],
            "confidence": _confidence(kb, item.question, answer.hits),
            "labels": item.extra,
        },
    )


def _confidence(kb: KnowledgeBase, question: str, hits: Sequence[Hit]) -> float:
    """Return how probable an answer is by its passages, as without calibration.

    It means the same in every collection.
    """
    asked = read_question(question)
    weights = term_weights(kb.store, kb.collection, asked.content)
    found = signals(asked, hits, weights, model=Meaning(kb.embedder).model())
    return round(found.probability, 6)


def _searched(kb: KnowledgeBase, item: Item, k: int) -> Response:
    started = time.perf_counter()
    try:
        hits = kb.search(item.question, k=k)
    except QueryError as error:
        raise ModelError(str(error)) from error
    latency_s = time.perf_counter() - started
    passages = [_passage(hit, text=rank < TEXTS) for rank, hit in enumerate(hits)]
    return Response(
        text="\n".join(ranked(passages)),
        finish="stop",
        latency_s=latency_s,
        detail={"hits": passages, "labels": item.extra},
    )


def ranked(passages: Iterable[Mapping[str, Any]]) -> list[str]:
    """Return the documents of passages, best first, each where its best passage stands."""
    return list(dict.fromkeys(place["uri"] for place in named(passages)))


def named(passages: Iterable[Mapping[str, Any]]) -> Iterator[Mapping[str, Any]]:
    """Yield the places that passages name: each one's own, then those where the same is said."""
    for passage in passages:
        yield passage
        yield from passage.get("duplicates", ())  # runs of earlier versions have none


def _passage(hit: Hit, *, text: bool) -> Mapping[str, Any]:
    place = _place(hit)
    if hit.duplicates:
        place["duplicates"] = [_place(copy) for copy in hit.duplicates]
    return place | {"text": hit.text} if text else place


def _place(found: Hit | Copy) -> dict[str, Any]:
    return {
        "document": found.document,
        "uri": found.uri,
        "start": found.start,
        "end": found.end,
    }
