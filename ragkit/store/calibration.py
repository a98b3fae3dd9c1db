"""Cut-offs that were fitted, in the database: one per collection, embedding space, reranker, mode.

It knows nothing of how one is fitted, or of what a score means.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any, cast

from psycopg import Cursor

from ragkit.answer.cutoff import RERANKED, SIGNALS, Cutoff
from ragkit.store import binding, documents
from ragkit.store.lending import transaction
from ragkit.types import EmbeddingSpace, Mode

if TYPE_CHECKING:
    from psycopg import Connection
    from psycopg_pool import ConnectionPool

    from ragkit.contracts import Embedder, Reranker

_COLUMNS = (
    "space, reranker, mode, signals, bias, weights, means, threshold, data_hash, answerable,"
    " unanswerable, chunks, auc, fitted_at"
)
_SAVE = """
    INSERT INTO calibration (tenant, collection_id, space, reranker, mode, signals, bias, weights,
        means, threshold, data_hash, answerable, unanswerable, chunks, auc)
    VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s)
    ON CONFLICT (tenant, collection_id, space, reranker, mode) DO UPDATE SET
        signals = excluded.signals, bias = excluded.bias, weights = excluded.weights,
        means = excluded.means, threshold = excluded.threshold, data_hash = excluded.data_hash,
        answerable = excluded.answerable, unanswerable = excluded.unanswerable,
        chunks = excluded.chunks, auc = excluded.auc, fitted_at = now()
"""
_FIND = f"""
    SELECT {_COLUMNS} FROM calibration
    WHERE tenant = %s AND collection_id = %s ORDER BY mode, space, reranker
"""  # noqa: S608  built from constants only
_DELETE = "DELETE FROM calibration WHERE tenant = %s AND collection_id = %s"


@dataclass(frozen=True, slots=True)
class Calibration:
    """A cut-off, what it holds for, and what it was fitted on.

    `space` is None in lexical mode. `data_hash` is of the labelled questions, `chunks` what the
    collection had then, `auc` the cross-validated area under the curve.
    """

    space: EmbeddingSpace | None
    reranker: str
    mode: Mode
    cutoff: Cutoff
    data_hash: str
    answerable: int
    unanswerable: int
    chunks: int
    auc: float
    fitted_at: datetime | None = None

    def fits(self, space: EmbeddingSpace | None, reranker: str) -> bool:
        """Tell whether it was fitted with this model and reranker, on the signals of today."""
        signals = RERANKED if reranker else SIGNALS
        return (self.space, self.reranker, self.cutoff.signals) == (space, reranker, signals)


class Calibrations:
    """One tenant's cut-offs; methods raise NotFoundError for an unknown collection."""

    def __init__(self, pool: ConnectionPool[Connection[Any]], tenant: str) -> None:
        self._pool = pool
        self._tenant = tenant

    def save(self, collection: str, made: Calibration) -> None:
        """Keep a cut-off in the place of the one with the same space, reranker and mode."""
        cutoff = made.cutoff
        with self._in(collection) as (cursor, collection_id):
            values = (
                self._tenant, collection_id, _space_key(made.space), made.reranker, made.mode,
                list(cutoff.signals), cutoff.bias, list(cutoff.weights), list(cutoff.means),
                cutoff.threshold, made.data_hash, made.answerable, made.unanswerable, made.chunks,
                made.auc,
            )  # fmt: skip
            cursor.execute(_SAVE, values)

    def of(self, collection: str) -> Sequence[Calibration]:
        """Return a collection's cut-offs, whatever they were fitted with."""
        with self._in(collection) as (cursor, collection_id):
            return [_read(row) for row in cursor.execute(_FIND, (self._tenant, collection_id))]

    def beside_space(self, collection: str) -> tuple[Sequence[Calibration], EmbeddingSpace | None]:
        """Return what `of` does and the space that the collection is searched in, at one moment."""
        with self._in(collection) as (cursor, collection_id):
            made = [_read(row) for row in cursor.execute(_FIND, (self._tenant, collection_id))]
            active = binding.active(cursor, self._tenant, collection_id) if made else None
        return made, None if active is None else active.space

    def reset(self, collection: str) -> int:
        """Forget a collection's cut-offs and return how many there were."""
        with self._in(collection) as (cursor, collection_id):
            return cursor.execute(_DELETE, (self._tenant, collection_id)).rowcount

    @contextmanager
    def _in(self, collection: str) -> Iterator[tuple[Cursor[Any], int]]:
        with transaction(self._pool, self._tenant) as cursor:
            yield cursor, documents.collection_id(cursor, self._tenant, collection)


class CurrentCutoff:
    """Look a mode's cut-off up at each question, as it may be fitted anew at any time.

    One that was fitted with another model or reranker, or on other signals, is passed over. The
    model is `embedder`, or without one the collection's own, which is known without loading it.
    """

    def __init__(
        self,
        calibrations: Calibrations,
        collection: str,
        embedder: Embedder | None = None,
        *,
        reranker: Reranker | None = None,
    ) -> None:
        self._calibrations = calibrations
        self._collection = collection
        self._embedder = embedder
        self._reranker = reranker

    def __call__(self, mode: Mode) -> Cutoff | None:
        every, space = self._calibrations.beside_space(self._collection)
        made = [one for one in every if one.mode == mode]
        if not made:
            return None  # and no model need be loaded
        if mode == "lexical":
            space = None
        elif self._embedder is not None:
            space = space_of(self._embedder, mode)
        name = name_of(self._reranker)
        return next((one.cutoff for one in made if one.fits(space, name)), None)


def space_of(embedder: Embedder, mode: Mode) -> EmbeddingSpace | None:
    """Return the embedding space that a mode of search compares in; None for words alone."""
    if mode == "lexical":
        return None
    embedder.load()
    return embedder.space


def name_of(reranker: Reranker | None) -> str:
    """Return what a reranker's cut-off is kept under; "" without one."""
    if reranker is None:
        return ""
    reranker.load()
    return reranker.name


def _space_key(space: EmbeddingSpace | None) -> str:
    return "" if space is None else json.dumps(asdict(space), ensure_ascii=False, sort_keys=True)


def _read(row: Sequence[Any]) -> Calibration:
    space, reranker, mode, signals, bias, weights, means, threshold = row[:8]
    data_hash, answerable, unanswerable, chunks, auc, fitted_at = row[8:]
    return Calibration(
        space=EmbeddingSpace(**json.loads(space)) if space else None,
        reranker=reranker,
        mode=cast("Mode", mode),
        cutoff=Cutoff(bias, tuple(weights), tuple(means), threshold, tuple(signals)),
        data_hash=data_hash,
        answerable=answerable,
        unanswerable=unanswerable,
        chunks=chunks,
        auc=auc,
        fitted_at=fitted_at,
    )
