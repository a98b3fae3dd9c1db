"""Refine a search's hits with a reranker: a new order, and a cut-off where one is fitted."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import isfinite
from typing import TYPE_CHECKING

from ragkit.errors import ModelError
from ragkit.types import Hit

if TYPE_CHECKING:
    from ragkit.contracts import Reranker

SCORE = "rerank"  # in `Hit.scores`


@dataclass(frozen=True, slots=True)
class Rerank:
    """Put the first `candidates` hits in the reranker's order; equal scores keep theirs.

    Whatever comes after them stays behind them, and counts as no better than their last.
    """

    reranker: Reranker
    candidates: int
    name: str = "rerank"

    def refine(self, query: str, hits: Sequence[Hit]) -> Sequence[Hit]:
        """Score the hits' texts anew. Raises ModelError, ModelServerError."""
        if not hits:
            return []
        first = hits[: self.candidates]
        scores = self.reranker.rerank(query, [hit.text for hit in first])
        if len(scores) != len(first) or not all(map(isfinite, scores)):
            raise ModelError(
                f"reranker {self.reranker.name} gave no finite score to each of {len(first)}"
                " passages: name another reranker"
            )
        scored = [
            replace(hit, score=float(score), scores={**hit.scores, SCORE: float(score)})
            for hit, score in zip(first, scores, strict=True)
        ]
        scored.sort(key=lambda hit: -hit.score)
        lowest = scored[-1].score
        return [*scored, *(replace(hit, score=lowest) for hit in hits[self.candidates :])]


@dataclass(frozen=True, slots=True)
class CutOff:
    """Drop hits that the reranker scores below `least()`; None drops nothing.

    It is asked at each search. Where it drops at all, a hit that was not reranked goes as well.
    """

    least: Callable[[], float | None]
    name: str = "cut-off"

    def refine(self, query: str, hits: Sequence[Hit]) -> Sequence[Hit]:
        """Keep what reaches the cut-off, in its order."""
        least = self.least()
        if least is None:
            return hits
        return [hit for hit in hits if SCORE in hit.scores and hit.scores[SCORE] >= least]
