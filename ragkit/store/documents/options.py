"""A collection's options of ingestion, stored in its settings: see `IngestOptions`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from psycopg.types.json import Jsonb

from ragkit.settings.ingest_options import KEY
from ragkit.store.documents import documents

if TYPE_CHECKING:
    from ragkit.store.session import Session

# Waits for another change, which is then kept.
_LOCK: Final = """
    SELECT settings FROM collection
    WHERE tenant = %(tenant)s AND id = %(collection)s FOR NO KEY UPDATE
"""
_SET: Final = """
    UPDATE collection SET settings = %(settings)s
    WHERE tenant = %(tenant)s AND id = %(collection)s
"""


def get(session: Session, collection: str) -> Mapping[str, Any]:
    """Return a collection's own options; empty where it has none."""
    return _options(documents.collection_row(session, collection)[1])


def change(
    session: Session, collection: str, options: Mapping[str, Any], unset: Sequence[str]
) -> Mapping[str, Any]:
    """Set options and forget others; return all that the collection then has."""
    number = documents.collection_id(session, collection)
    row = session.row(_LOCK, {"collection": number})
    if row is None:
        raise documents.no_collection(session, collection)
    settings = dict(row[0])
    merged = {**_options(settings), **options}
    remaining = {name: value for name, value in merged.items() if name not in unset}
    settings.pop(KEY, None)
    if remaining:
        settings[KEY] = remaining
    session.execute(_SET, {"settings": Jsonb(settings), "collection": number})
    return remaining


def _options(settings: Mapping[str, Any]) -> Mapping[str, Any]:
    return dict(settings.get(KEY, {}))
