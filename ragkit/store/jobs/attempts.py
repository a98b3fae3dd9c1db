"""What became of files on their way into a collection, for explaining why one is not there.

It reads the job ledger; it changes nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from ragkit.store.documents.names import FIT, called
from ragkit.types import Attempt

if TYPE_CHECKING:
    from psycopg import Cursor

MAX_SHOWN: Final = 20

_ENDING: Final = f"""
    SELECT uri, state, stage, reason FROM job
    WHERE tenant = %(tenant)s AND collection_id = %(collection)s
        AND {FIT} IS NOT NULL
        AND (%(principals)s::text[] IS NULL OR 'user:' || principal = ANY(%(principals)s))
    ORDER BY {FIT}, updated_at DESC LIMIT %(limit)s
"""  # noqa: S608


def ending(
    cursor: Cursor[Any],
    tenant: str,
    collection: int,
    name: str,
    principals: tuple[str, ...] | None,
) -> list[Attempt]:
    """List the files that a name fits, best first, then latest first; of these principals."""
    values = {
        "tenant": tenant,
        "collection": collection,
        **called(name),
        "principals": None if principals is None else list(principals),
        "limit": MAX_SHOWN,
    }
    return [Attempt(*row) for row in cursor.execute(_ENDING, values)]
