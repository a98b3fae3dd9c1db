"""The passages that a model would learn most from if their owner wrote questions about them.

Two kinds take turns: passages of rows where the base model hardly tells the right passage from its
best rival, and passages far from all that the rows cover (k-centre greedy: Sener and Savarese 2018,
arXiv:1708.00489).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain, zip_longest
from typing import TYPE_CHECKING, Any, Final

from ragkit.filters.tree import Every
from ragkit.text.length import estimate_tokens
from ragkit.types import Hit
from ragkit_tune.data.checks import MIN_TOKENS, Row
from ragkit_tune.data.questions import digest, drawn

if TYPE_CHECKING:
    from ragkit.contracts import Embedder, Store

MAX_CANDIDATES: Final = 20_000  # passages that are compared, drawn by the seed; bounds memory
TAG: Final = "ask"


def choose_passages(
    rows: Sequence[Row], store: Store, collection: str, embedder: Embedder, *, count: int, seed: int
) -> list[dict[str, Any]]:
    """Return up to `count` lines of a labelled set without questions, the most useful first.

    Once questions are written into them, `--set` takes them.
    """
    if not count:
        return []
    unsure = _least_margins(rows)
    distant = _farthest(rows, store, collection, embedder, count, seed)
    in_turn = chain.from_iterable(zip_longest(unsure, distant, fillvalue=(None, "")))
    others = ((row.place.passage, "few questions are about it") for row in rows)
    lines: dict[str, dict[str, Any]] = {}
    for passage, why in chain(in_turn, others):
        if passage is not None and passage.text not in lines:
            lines[passage.text] = _line(passage, why)
        if len(lines) == count:
            break
    return list(lines.values())


def _least_margins(rows: Sequence[Row]) -> Iterator[tuple[Hit | None, str]]:
    pairs = [(row.rivals.margin, row) for row in rows if row.question.how != "cloze"]
    compared = [(margin, row) for margin, row in pairs if margin is not None]
    for margin, row in sorted(compared, key=lambda pair: pair[0]):
        asked = f"for the question {row.question.text!r} the model in use"
        yield (
            row.place.passage,
            f"{asked} finds another passage before this one"
            if margin < 0
            else f"{asked} finds this passage first, and may not for others",
        )


def _farthest(
    rows: Sequence[Row], store: Store, collection: str, embedder: Embedder, count: int, seed: int
) -> Iterator[tuple[Hit | None, str]]:
    import numpy as np

    covered = {row.place.passage.chunk for row in rows}
    with store.snapshot() as reader:
        chunks = list(reader.matching(collection, Every(())))
        order = {
            hit.chunk: (hit.chunk not in covered, drawn(seed, hit.text, hit.start))
            for n in range(0, len(chunks), 1000)
            for hit in reader.hits(chunks[n : n + 1000])
        }
        chosen = sorted(order, key=order.__getitem__)
        vectors = reader.vectors(embedder.space, chosen[:MAX_CANDIDATES])
    numbers = [chunk for chunk in chosen if chunk in vectors]
    if not numbers:
        return
    matrix = np.stack([vectors[chunk] for chunk in numbers])
    is_covered = np.array([chunk in covered for chunk in numbers])
    # How near each passage is to the nearest one that a row, or this list, covers.
    centres = matrix[is_covered] if is_covered.any() else matrix.mean(axis=0, keepdims=True)
    nearest = np.concatenate(
        [(matrix[n : n + 1000] @ centres.T).max(axis=1) for n in range(0, len(matrix), 1000)]
    )
    nearest[is_covered] = np.inf
    for _ in range(min(4 * count, int((~is_covered).sum()))):
        n = int(nearest.argmin())
        with store.snapshot() as reader:
            hits = reader.hits([numbers[n]])
        if hits and estimate_tokens(hits[0].text) >= MIN_TOKENS:
            yield hits[0], "no row is about anything like it"
            nearest = np.maximum(nearest, matrix @ matrix[n])
        nearest[n] = np.inf


def _line(passage: Hit, why: str) -> dict[str, Any]:
    return {
        "id": digest(TAG, passage.text, passage.start)[:12],
        "question": "",
        "spans": [
            {
                "document": passage.uri,
                "start": passage.start,
                "end": passage.end,
                "text": passage.text,
            }
        ],
        "tags": {TAG: why},
    }
