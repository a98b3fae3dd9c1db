"""Measure the recall of a collection's vector index, on its own vectors or on questions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ragkit.errors import NotFoundError, UsageError
from ragkit.upkeep.questions import read_lines, read_row

if TYPE_CHECKING:
    from ragkit.contracts import Embedder, Vectors
    from ragkit.filters.tree import Filter
    from ragkit.store.postgres import PostgresStore
    from ragkit.store.vectors.trial import Effort, Trial

SAMPLED = 100  # arbitrary: recall is then known to about a hundredth


def measure_recall(
    store: PostgresStore,
    collection: str,
    *,
    k: int = 10,
    queries: Vectors | None = None,
    sampled: int = SAMPLED,
    where: Filter | None = None,
    on_progress: Callable[[int, int], None] = lambda done, total: None,
) -> Trial:
    """Try a collection's index out against exact search, with a filter if one is given.

    `queries`, shape (n, dimension), are of the collection's model; without any, `sampled` stored
    vectors are drawn. Raises NotFoundError for a collection without passages.
    """
    if not 1 <= k <= 1000 or sampled < 1:
        raise UsageError(f"k is {k} and {sampled} are sampled: take 1 to 1000, and at least 1")
    space = store.active_space(collection)
    if space is None:
        raise NotFoundError(
            f"Collection {collection!r} has no documents: run `ragkit ingest` first."
        )
    with store.snapshot() as reader:
        if queries is None:
            queries = reader.sample(collection, space, sampled, where)
        remaining = len(queries) and reader.nearest(collection, space, queries[0], 1, where)
        if not remaining:
            raise NotFoundError("The filter leaves no passage to search for: widen it.")
        return reader.trial(collection, space, queries, k, where, on_progress)


def set_effort(store: PostgresStore, collection: str, effort: int) -> None:
    """Search the collection's embedding space that hard from now on."""
    space = store.active_space(collection)
    assert space is not None, "it was measured"
    store.set_effort(space, effort)


def chosen(trial: Trial, target: float) -> Effort | None:
    """Return the least effort that reaches the target.

    None where nothing need be chosen: every search is exact. Raises UsageError when none does.
    """
    if trial.index == "none":
        return None
    least = trial.least(target)
    if least is None:
        best = max(trial.efforts, key=lambda effort: effort.recall)
        raise UsageError(
            f"no effort reaches recall {target:g}: the most is {best.recall:.3f}, at {best.effort};"
            " build the index anew with `ragkit index build`, or lower the target"
        )
    return least


def embedded(embedder: Embedder, questions: Sequence[str]) -> Vectors:
    """Embed questions as a search does: shape (len(questions), dimension)."""
    import numpy as np

    embedder.load()
    return np.stack([embedder.embed_query(question) for question in questions])


def read_questions(path: Path) -> list[str]:
    """Read questions, one a line: as it stands, or "question" of a JSON object.

    Raises NotFoundError for a file that cannot be read, UsageError for one without a question.
    """
    questions = [_question(where, line) for where, line in read_lines(path)]
    if not questions:
        raise UsageError(f"{path} holds no question: write one on each line")
    return questions


def _question(where: str, line: str) -> str:
    if not line.startswith("{"):
        return line
    question = read_row(where, line).get("question")
    if not isinstance(question, str) or not question.strip():
        raise UsageError(f'{where}: "question" must be a text')
    return question
