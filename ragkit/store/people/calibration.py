"""Fitted cut-offs in the database: one per collection, embedding space, reranker and mode."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any, cast

from ragkit.stats.cutoff import RERANKED, SIGNALS, Cutoff
from ragkit.store.reader import PostgresReader
from ragkit.store.session import TenantSessions
from ragkit.types import EmbeddingSpace, Mode

if TYPE_CHECKING:
    from ragkit.contracts import Embedder, Reader, Reranker, Store
    from ragkit.store.session import Session

_COLUMNS = (
    "space, reranker, mode, signals, bias, weights, means, threshold, data_hash, answerable,"
    " unanswerable, chunks, auc, fitted_at"
)
_SAVE = """
    INSERT INTO calibration (tenant, collection_id, space, reranker, mode, signals, bias, weights,
        means, threshold, data_hash, answerable, unanswerable, chunks, auc)
    VALUES (%(tenant)s, %(collection)s, %(space)s, %(reranker)s, %(mode)s, %(signals)s, %(bias)s,
        %(weights)s, %(means)s, %(threshold)s, %(data_hash)s, %(answerable)s, %(unanswerable)s,
        %(chunks)s, %(auc)s)
    ON CONFLICT (tenant, collection_id, space, reranker, mode) DO UPDATE SET
        signals = excluded.signals, bias = excluded.bias, weights = excluded.weights,
        means = excluded.means, threshold = excluded.threshold, data_hash = excluded.data_hash,
        answerable = excluded.answerable, unanswerable = excluded.unanswerable,
        chunks = excluded.chunks, auc = excluded.auc, fitted_at = excluded.fitted_at
"""
_FIND = f"""
    SELECT {_COLUMNS} FROM calibration
    WHERE tenant = %(tenant)s AND collection_id = %(collection)s ORDER BY mode, space, reranker
"""  # noqa: S608  built from constants only
_DELETE = """
    DELETE FROM calibration WHERE tenant = %(tenant)s AND collection_id = %(collection)s
"""


@dataclass(frozen=True, slots=True)
class Calibration:
    """A cut-off, the searches that it is for, and the data that it was fitted on.

    `space` is None in lexical mode. `data_hash` is of the labelled questions, `chunks` the number
    that the collection had then, `auc` the cross-validated area under the curve.
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
        """Tell whether it was fitted with this model and reranker, on the present signals."""
        signals = RERANKED if reranker else SIGNALS
        return (self.space, self.reranker, self.cutoff.signals) == (space, reranker, signals)


class Calibrations(TenantSessions):
    """One tenant's cut-offs; methods raise NotFoundError for an unknown collection."""

    def save(self, collection: str, calibration: Calibration) -> None:
        """Store a cut-off in the place of one with the same space, reranker and mode."""
        cutoff = calibration.cutoff
        values = {
            "space": _space_key(calibration.space),
            "reranker": calibration.reranker,
            "mode": calibration.mode,
            "signals": list(cutoff.signals),
            "bias": cutoff.bias,
            "weights": list(cutoff.weights),
            "means": list(cutoff.means),
            "threshold": cutoff.threshold,
            "data_hash": calibration.data_hash,
            "answerable": calibration.answerable,
            "unanswerable": calibration.unanswerable,
            "chunks": calibration.chunks,
            "auc": calibration.auc,
        }
        with self._in_collection(collection) as (session, number):
            session.execute(_SAVE, {**values, "collection": number})

    def of(self, collection: str) -> Sequence[Calibration]:
        """Return a collection's cut-offs, of every model and reranker."""
        with self._in_collection(collection) as (session, number):
            return calibrations(session, number)

    def reset(self, collection: str) -> int:
        """Forget a collection's cut-offs and return how many there were."""
        with self._in_collection(collection) as (session, number):
            return session.execute(_DELETE, {"collection": number}).rowcount


def calibrations(session: Session, collection: int) -> list[Calibration]:
    """Return a collection's cut-offs, of every model and reranker."""
    return [_read(row) for row in session.execute(_FIND, {"collection": collection})]


class CurrentCutoff:
    """Look a mode's cut-off up at each question, as it may be fitted anew at any time.

    One that was fitted with another model or reranker, or on other signals, is passed over. The
    model is `embedder`, or without one the collection's own, which need not be loaded for that.
    """

    def __init__(
        self,
        store: Store,
        collection: str,
        embedder: Embedder | None = None,
        *,
        reranker: Reranker | None = None,
    ) -> None:
        self._store = store
        self._collection = collection
        self._embedder = embedder
        self._reranker = reranker

    def __call__(self, mode: Mode, reader: Reader | None = None) -> Cutoff | None:
        """Look a mode's cut-off up, in a view of the store that is open or in one of its own."""
        if reader is None:
            with self._store.snapshot() as own:
                return self(mode, own)
        if not isinstance(reader, PostgresReader):
            return None  # other stores keep no cut-offs
        searched = reader.look_up(self._collection)
        fitted = calibrations(reader.session, searched.id) if searched.calibrated else []
        of_mode = [item for item in fitted if item.mode == mode]
        if not of_mode:
            return None  # and no model need be loaded
        if mode == "lexical":
            space = None
        elif self._embedder is not None:
            space = space_of(self._embedder, mode)
        else:
            space = searched.space
        name = name_of(self._reranker)
        return next((item.cutoff for item in of_mode if item.fits(space, name)), None)


def space_of(embedder: Embedder, mode: Mode) -> EmbeddingSpace | None:
    """Return the embedding space that a mode of search compares in; None for words alone."""
    if mode == "lexical":
        return None
    embedder.load()
    return embedder.space


def name_of(reranker: Reranker | None) -> str:
    """Return the name that a reranker's cut-off is stored under; "" without one."""
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
