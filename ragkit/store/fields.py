"""What a collection's documents have that a question may name: languages, file types, metadata.

It looks at the latest documents alone, so that its cost does not grow with the collection.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, Final

from psycopg.sql import SQL

from ragkit.filters import METADATA, texts_of
from ragkit.types import Fields

if TYPE_CHECKING:
    from psycopg import Cursor

    from ragkit.store.where import Restriction

LATEST: Final = 1000  # documents looked at; arbitrary
MAX_VALUES: Final = 50  # of one key, the commonest; arbitrary: more are no categories
MAX_VALUE_CHARS: Final = 80

_LATEST: Final = SQL("""
    SELECT d.language, d.media_type, d.metadata FROM document d
    WHERE d.tenant = %(tenant)s AND d.collection_id = %(collection)s AND {} ORDER BY d.id DESC
    LIMIT %(limit)s
""")
_DECLARED: Final = """
    SELECT key, type FROM metadata_key
    WHERE tenant = %s AND collection_id = %s AND type IS NOT NULL
"""


def fields(
    cursor: Cursor[Any], tenant: str, collection: int, among: Restriction | None = None
) -> Fields:
    """Gather the fields of the latest documents that a caller may read."""
    values = {"tenant": tenant, "collection": collection, "limit": LATEST}
    statement = _LATEST.format(among.condition if among else SQL("true"))
    languages: Counter[str] = Counter()
    media_types: Counter[str] = Counter()
    found: dict[str, Counter[str]] = {}
    for language, media_type, metadata in cursor.execute(
        statement, {**values, **(among.values if among else {})}
    ):
        languages[language] += 1
        media_types[media_type] += 1
        for name, value in texts_of(metadata).items():
            found.setdefault(name.removeprefix(METADATA), Counter())[value] += 1
    declared = dict(cursor.execute(_DECLARED, (tenant, collection)).fetchall())
    return Fields(
        languages=_commonest(languages),
        media_types=_commonest(media_types),
        keys={key: declared.get(key) for key in found},
        values={key: _commonest(counts) for key, counts in found.items()},
    )


def _commonest(counts: Counter[str]) -> tuple[str, ...]:
    named = [value for value, _ in counts.most_common() if value.strip()]
    return tuple(value for value in named if len(value) <= MAX_VALUE_CHARS)[:MAX_VALUES]
