"""Diversity: hits unlike each other, and a limit for each document."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ragkit.types import Hit

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from ragkit.contracts import Store, Vectors

    Floats = NDArray[np.float64]


class Diversify:
    """Reorder hits by maximal marginal relevance over their stored vectors.

    Each place goes to the hit of highest (1 - weight) relevance - weight max cosine with the hits
    already placed (Carbonell and Goldstein 1998, doi:10.1145/290941.291025), relevance being the
    hit's score scaled to 0..1 over the hits. A hit without a vector counts as unlike all others.
    Scores stay. The vectors are those of the collection's active space: no model is loaded, and a
    search by words alone is diversified as well.
    """

    name = "diversify"

    def __init__(self, store: Store, collection: str, *, weight: float) -> None:
        self._store = store
        self._collection = collection
        self._weight = weight

    def refine(self, query: str, hits: Sequence[Hit]) -> Sequence[Hit]:
        """Return all of the hits in their new order. Raises NotFoundError, DatabaseError."""
        if len(hits) < 2:
            return hits
        space = self._store.active_space(self._collection)
        if space is None:
            return hits
        with self._store.snapshot() as reader:
            vectors = reader.vectors(space, [hit.chunk for hit in hits])
        order = marginal_relevance(
            _relevance([hit.score for hit in hits]),
            _cosines([hit.chunk for hit in hits], vectors),
            weight=self._weight,
        )
        return [hits[place] for place in order]


@dataclass(frozen=True, slots=True)
class PerDocument:
    """Keep the first `most` hits of each document."""

    most: int
    name: str = "per document"

    def refine(self, query: str, hits: Sequence[Hit]) -> Sequence[Hit]:
        """Return the retained hits, in their order."""
        counts: Counter[int] = Counter()
        retained: list[Hit] = []
        for hit in hits:
            counts[hit.document] += 1
            if counts[hit.document] <= self.most:
                retained.append(hit)
        return retained


def marginal_relevance(relevance: Floats, cosines: Floats, *, weight: float) -> list[int]:
    """Return places in order of maximal marginal relevance; of equals the earlier comes first.

    `relevance` has shape (n,), `cosines` (n, n). With `weight` 0 relevance alone counts, with 1
    novelty alone, after the first place, which always goes to the most relevant.
    """
    import numpy as np

    remaining = list(range(len(relevance)))
    order: list[int] = []
    likeness = np.zeros(len(relevance))
    while remaining:
        gains = (
            (1 - weight) * relevance[remaining] - weight * likeness[remaining]
            if order
            else relevance
        )
        place = remaining[int(np.argmax(gains))]
        likeness = np.maximum(likeness, cosines[place]) if order else cosines[place]
        order.append(place)
        remaining.remove(place)
    return order


def _relevance(scores: Sequence[float]) -> Floats:
    import numpy as np

    values = np.array(scores, dtype=np.float64)
    span = values.max() - values.min()
    scaled: Floats = (values - values.min()) / span if span else np.ones(len(values))
    return scaled


def _cosines(chunks: Sequence[int], vectors: Mapping[int, Vectors]) -> Floats:
    """Return the cosines (n, n) of chunks, 0 where either has no vector."""
    import numpy as np

    dimension = len(next(iter(vectors.values()))) if vectors else 1
    table = np.zeros((len(chunks), dimension))
    for place, chunk in enumerate(chunks):
        if chunk in vectors:
            vector = np.asarray(vectors[chunk], dtype=np.float64)
            table[place] = vector / (np.linalg.norm(vector) or 1.0)
    cosines: Floats = table @ table.T
    return cosines
