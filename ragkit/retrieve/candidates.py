"""What both legs know of one wording's candidates, and how that becomes one ranking.

It knows nothing of models, stores or texts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from ragkit.retrieve.fusion.calibrated import Background, Fused, dense_weight, weighed
from ragkit.retrieve.fusion.reciprocal import reciprocal_rank

Ranking = Sequence[tuple[int, float]]


@dataclass(frozen=True)
class Candidates:
    """Both legs' exact scores of every candidate, and what they say besides.

    `coverage` is the best BM25 score's share of the query's idf mass, `readable` the share of the
    query that the embedding model was made for. `trusted`: the model was made for all languages,
    and is heard whatever the words say.
    """

    dense: Mapping[int, float]
    lexical: Mapping[int, float]
    background: Background
    coverage: float
    readable: float
    trusted: bool = False

    def fused(self) -> list[Fused]:
        """Return all candidates, best first."""
        return weighed(self.dense, self.lexical, self.background, self.weight)

    def notes(self) -> dict[str, float | str]:
        """Say by what numbers they were fused, for the trace."""
        return {
            "method": "calibrated",
            "candidates": len(self._all),
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
    def _all(self) -> set[int]:
        return self.dense.keys() | self.lexical.keys()


def by_rank(lists: Sequence[Sequence[Fused]]) -> list[Fused]:
    """Fuse several wordings' rankings; a chunk keeps its legs' scores of the first that has it."""
    first = {one.chunk: one for ranked in reversed(lists) for one in ranked}
    ranks = [[one.chunk for one in ranked] for ranked in lists]
    return [
        Fused(chunk, score, first[chunk].dense, first[chunk].lexical)
        for chunk, score in reciprocal_rank(ranks)
    ]
