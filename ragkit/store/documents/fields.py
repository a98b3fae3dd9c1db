"""Fields of a collection's documents that a question may name: languages, file types, metadata.

Only the latest documents are read, so that the cost does not grow with the collection.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final

from psycopg.sql import SQL

from ragkit.filters.tree import METADATA, texts_of
from ragkit.types import Fields

if TYPE_CHECKING:
    from ragkit.store.documents.filter_sql import Restriction
    from ragkit.store.session import Session

LATEST: Final = 1000  # documents that are read; arbitrary
MAX_VALUES: Final = 50  # of one key, the commonest; arbitrary: more are no categories
MAX_VALUE_CHARS: Final = 80

_LATEST: Final = SQL("""
    SELECT d.language, d.media_type, d.metadata FROM visible_document d
    WHERE d.tenant = %(tenant)s AND d.collection_id = %(collection)s AND {}
    ORDER BY d.id DESC LIMIT %(limit)s
""")
_DECLARED: Final = """
    SELECT key, type FROM metadata_key
    WHERE tenant = %(tenant)s AND collection_id = %(collection)s AND type IS NOT NULL
"""


def fields(session: Session, collection: int, among: Restriction | None = None) -> Fields:
    """Gather the fields of the latest visible documents, of those that `among` leaves."""
    statement = _LATEST.format(among.condition if among else SQL("true"))
    values = {**(among.values if among else {}), "collection": collection, "limit": LATEST}
    languages: Counter[str] = Counter()
    media_types: Counter[str] = Counter()
    by_key: dict[str, Counter[str]] = {}
    for language, media_type, metadata in session.execute(statement, values):
        languages[language] += 1
        media_types[media_type] += 1
        for name, value in texts_of(metadata).items():
            by_key.setdefault(name.removeprefix(METADATA), Counter())[value] += 1
    declared = dict(session.execute(_DECLARED, {"collection": collection}).fetchall())
    return Fields(
        languages=_commonest(languages),
        media_types=_commonest(media_types),
        keys={key: declared.get(key) for key in by_key},
        values={key: _commonest(counts) for key, counts in by_key.items()},
    )


def _commonest(counts: Counter[str]) -> tuple[str, ...]:
    named = [value for value, _ in counts.most_common() if value.strip()]
    return tuple(value for value in named if len(value) <= MAX_VALUE_CHARS)[:MAX_VALUES]
