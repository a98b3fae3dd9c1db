"""A collection's own options of ingestion, kept among its settings.

It knows nothing of what they mean: see `ragkit.ingest_options`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from psycopg.types.json import Jsonb

from ragkit.ingest_options import KEY
from ragkit.store import documents

if TYPE_CHECKING:
    from psycopg import Cursor

    from ragkit.store.where import Readers

# What another changes meanwhile is waited for, and kept.
_LOCK: Final = "SELECT settings FROM collection WHERE tenant = %s AND id = %s FOR NO KEY UPDATE"
_SET: Final = "UPDATE collection SET settings = %s WHERE tenant = %s AND id = %s"


def get(
    cursor: Cursor[Any], tenant: str, collection: str, readers: Readers = None
) -> Mapping[str, Any]:
    """Return what a collection keeps of its own; empty where it keeps nothing."""
    return _own(documents.collection_row(cursor, tenant, collection, readers=readers)[1])


def change(
    cursor: Cursor[Any],
    tenant: str,
    collection: str,
    options: Mapping[str, Any],
    unset: Sequence[str],
    *,
    readers: Readers = None,
) -> Mapping[str, Any]:
    """Set options and forget others; return all that are kept then."""
    number = documents.collection_id(cursor, tenant, collection, readers=readers)
    row = cursor.execute(_LOCK, (tenant, number)).fetchone()
    if row is None:
        raise documents.no_collection(cursor, tenant, collection, readers)
    settings = dict(row[0])
    own = {**_own(settings), **options}
    kept = {name: value for name, value in own.items() if name not in unset}
    settings.pop(KEY, None)
    if kept:
        settings[KEY] = kept
    cursor.execute(_SET, (Jsonb(settings), tenant, number))
    return kept


def _own(settings: Mapping[str, Any]) -> Mapping[str, Any]:
    return dict(settings.get(KEY, {}))
