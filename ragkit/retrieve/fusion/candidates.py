"""The candidates of one wording with both legs' scores, and their fusion."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from ragkit.retrieve.fusion.calibrated import Background, Fused, dense_weight, fuse
from ragkit.retrieve.fusion.reciprocal import reciprocal_rank

Ranking = Sequence[tuple[int, float]]


@dataclass(frozen=True)
class Candidates:
    """Both legs' exact scores of every candidate, and what weighs the legs.

    `coverage` is the best BM25 score's share of the query's idf mass, `readable` the share of the
    query that the embedding model was made for. With `trusted`, for a model of all languages, the
    dense leg counts whatever the lexical one says.
    """

    dense: Mapping[int, float]
    lexical: Mapping[int, float]
    background: Background
    coverage: float
    readable: float
    trusted: bool = False

    def fuse(self) -> list[Fused]:
        """Return all candidates, best first."""
        return fuse(self.dense, self.lexical, self.background, self.weight)

    def notes(self) -> dict[str, float | str]:
        """Return the numbers of the fusion, for the trace."""
        return {
            "method": "calibrated",
            "candidates": len(self._chunks),
            "dense_weight": self.weight,
            "readable": self.readable,
            "background_mean": self.background.mean,
            "background_deviation": self.background.deviation,
        }

    @cached_property
    def weight(self) -> float:
        """The dense leg's weight in the calibrated sum."""
        return dense_weight(
            self.dense,
            self.lexical,
            background=self.background,
            coverage=self.coverage,
            readable=self.readable,
            trusted=self.trusted,
        )

    @property
    def _chunks(self) -> set[int]:
        return self.dense.keys() | self.lexical.keys()


def fuse_wordings(rankings: Sequence[Sequence[Fused]]) -> list[Fused]:
    """Fuse several wordings' rankings; a chunk has the legs' scores of the first that lists it."""
    first = {fused.chunk: fused for ranking in reversed(rankings) for fused in ranking}
    ranks = [[fused.chunk for fused in ranking] for ranking in rankings]
    return [
        Fused(chunk, score, first[chunk].dense, first[chunk].lexical)
        for chunk, score in reciprocal_rank(ranks)
    ]
