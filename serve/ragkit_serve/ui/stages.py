"""What the Search tab shows: the passages that a query finds, what each leg gave them, the times.

Plain functions of a caller and values; it knows nothing of Gradio or of answers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from ragkit.render import printable
from ragkit.types import Hit, Mode
from ragkit_serve.ui.turn import name_of

if TYPE_CHECKING:
    from ragkit.library import Caller
    from ragkit_serve.services import Services

Words = Mapping[str, str]
Rows = list[list[str]]


def search(
    services: Services,
    caller: Caller,
    query: str,
    *,
    collection: str,
    documents: Sequence[int],
    mode: Mode,
    k: int,
    words: Words,
) -> tuple[Rows, Rows, str]:
    """Search; return the passages' rows, the stages' rows, and a summary.

    Raises QueryError, NotFoundError, DatabaseError, ModelError.
    """
    where = {"in": {"document": list(documents)}} if documents else None
    kb = services.library.open(caller, collection).adapted(mode=mode, where=where)
    found = kb.find(query, k=k)
    hits, seconds = found.hits, found.timings
    times = [
        [words.get(f"stage_{stage}", stage), f"{spent * 1000:.1f}"]
        for stage, spent in seconds.items()
    ]
    total = f"{sum(seconds.values()) * 1000:.0f}"
    return hit_rows(hits), times, words["found"].format(count=len(hits), ms=total)


def hit_rows(hits: Sequence[Hit]) -> Rows:
    """Make a row of each hit: rank, document, page, score, each leg's score and rank, text."""
    dense, lexical = _ranks(hits, "dense"), _ranks(hits, "lexical")
    return [
        [
            str(rank),
            printable(name_of(hit.title, hit.uri)),
            "" if hit.page is None else str(hit.page),
            f"{hit.score:.3f}",
            *_leg(hit, "dense", dense),
            *_leg(hit, "lexical", lexical),
            printable(" ".join(hit.text.split())),
        ]
        for rank, hit in enumerate(hits, 1)
    ]


def _leg(hit: Hit, leg: str, ranks: Mapping[int, int]) -> tuple[str, str]:
    if leg not in hit.scores:
        return "–", "–"
    return f"{hit.scores[leg]:.3f}", str(ranks[hit.chunk])


def _ranks(hits: Sequence[Hit], leg: str) -> dict[int, int]:
    """Rank the hits by one leg's score alone; equal scores have equal ranks."""
    scores = sorted((hit.scores[leg] for hit in hits if leg in hit.scores), reverse=True)
    return {hit.chunk: scores.index(hit.scores[leg]) + 1 for hit in hits if leg in hit.scores}
