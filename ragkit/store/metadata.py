"""The metadata keys of a collection: those there are, and those that it declares for an index.

A declared key's values stand once more in a table of their own, which filters on it then read; no
index is made while the program runs, so any role may declare. It knows nothing of parsing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from ragkit import filters
from ragkit.errors import UsageError
from ragkit.filters import METADATA, NUMBER, OWN_FIELDS, Filter, KeyType
from ragkit.store.documents import collection_id
from ragkit.store.lending import transaction
from ragkit.store.rows import first_value
from ragkit.store.where import Readers

if TYPE_CHECKING:
    from psycopg import Connection, Cursor
    from psycopg_pool import ConnectionPool

TYPES: Final[tuple[KeyType, ...]] = ("text", "number", "date")
MAX_KEY_CHARS: Final = 100  # of a declared key: it stands in each entry of its index
MAX_LISTED_BYTES: Final = 500  # of a key in the list of all
MAX_DECLARED: Final = 50  # arbitrary: each is written again with every document

_NOTE: Final = """
    INSERT INTO metadata_key (tenant, collection_id, key)
    SELECT %(tenant)s, %(collection)s, key FROM unnest(%(keys)s::text[]) AS key
    WHERE octet_length(key) <= %(most)s ORDER BY key ON CONFLICT DO NOTHING
"""
_DROP_VALUES: Final = """
    DELETE FROM metadata_value v WHERE v.tenant = %(tenant)s
        AND v.collection_id = %(collection)s
        AND (%(documents)s::bigint[] IS NULL OR v.document_id = ANY(%(documents)s))
        AND (%(keys)s::text[] IS NULL OR v.key = ANY(%(keys)s))
"""
_ADD_VALUES: Final = """
    INSERT INTO metadata_value (tenant, collection_id, key, document_id, value, number)
    SELECT d.tenant, d.collection_id, k.key, d.id, d.metadata ->> k.key,
        CASE WHEN d.metadata ->> k.key ~ %(number)s THEN (d.metadata ->> k.key)::numeric END
    FROM document d JOIN metadata_key k
        ON k.tenant = d.tenant AND k.collection_id = d.collection_id AND k.type IS NOT NULL
    WHERE d.tenant = %(tenant)s AND d.collection_id = %(collection)s
        AND (%(documents)s::bigint[] IS NULL OR d.id = ANY(%(documents)s))
        AND (%(keys)s::text[] IS NULL OR k.key = ANY(%(keys)s))
        AND d.metadata ->> k.key IS NOT NULL
"""
_KEYS: Final = "SELECT key, type FROM metadata_key WHERE tenant = %s AND collection_id = %s"
_DECLARE: Final = """
    INSERT INTO metadata_key (tenant, collection_id, key, type) VALUES (%s, %s, %s, %s)
    ON CONFLICT (tenant, collection_id, key) DO UPDATE SET type = excluded.type
"""
_FORGET: Final = """
    UPDATE metadata_key SET type = NULL
    WHERE tenant = %s AND collection_id = %s AND key = ANY(%s) AND type IS NOT NULL RETURNING key
"""
_LOCK: Final = "SELECT 1 FROM collection WHERE tenant = %s AND id = %s FOR UPDATE"
_ANY_DOCUMENT: Final = """
    SELECT EXISTS (SELECT 1 FROM document d WHERE d.tenant = %(tenant)s
        AND d.collection_id = %(collection)s AND may_read(d.owner, d.readers, %(readers)s::text[]))
"""
_HAS_KEY: Final = """
    SELECT EXISTS (SELECT 1 FROM document d WHERE d.tenant = %(tenant)s
        AND d.collection_id = %(collection)s AND d.metadata ? %(key)s
        AND may_read(d.owner, d.readers, %(readers)s::text[]))
"""
_READABLE_KEYS: Final = """
    SELECT DISTINCT jsonb_object_keys(d.metadata) FROM document d WHERE d.tenant = %(tenant)s
        AND d.collection_id = %(collection)s AND may_read(d.owner, d.readers, %(readers)s::text[])
    LIMIT 1000
"""
# Of these declared keys, those that a document has which the readers may read.
_READABLE_OF: Final = """
    SELECT k FROM unnest(%(keys)s::text[]) AS k WHERE EXISTS (
        SELECT 1 FROM metadata_value v
        JOIN document d ON d.tenant = v.tenant AND d.id = v.document_id
        WHERE v.tenant = %(tenant)s AND v.collection_id = %(collection)s AND v.key = k
            AND may_read(d.owner, d.readers, %(readers)s::text[]))
"""
_COUNTED: Final = """
    SELECT k.key, k.type, count(v.document_id),
        count(v.document_id) FILTER (WHERE k.type = 'number' AND v.number IS NULL
            OR k.type = 'date' AND v.value !~ '^[0-9]{4}-[0-9]{2}-[0-9]{2}')
    FROM metadata_key k LEFT JOIN metadata_value v
        ON v.tenant = k.tenant AND v.collection_id = k.collection_id AND v.key = k.key
    WHERE k.tenant = %s AND k.collection_id = %s AND k.type IS NOT NULL
    GROUP BY k.key, k.type ORDER BY k.key
"""


@dataclass(frozen=True, slots=True)
class DeclaredKey:
    """A declared key, how many documents have it, and how many of those hold another type."""

    key: str
    type: KeyType
    documents: int
    others: int


class MetadataKeys:
    """The declared metadata keys of one tenant's collections."""

    def __init__(self, pool: ConnectionPool[Connection[Any]], tenant: str) -> None:
        self._pool = pool
        self._tenant = tenant

    def declared(self, collection: str) -> list[DeclaredKey]:
        """List the keys that a collection declares. Raises NotFoundError."""
        with transaction(self._pool, self._tenant) as cursor:
            number = collection_id(cursor, self._tenant, collection)
            return [DeclaredKey(*row) for row in cursor.execute(_COUNTED, (self._tenant, number))]

    def declare(self, collection: str, keys: Mapping[str, KeyType]) -> None:
        """Index these keys of a collection from now on, for the documents that it has too.

        Waits for documents that are being stored, and they for it. Raises NotFoundError, UsageError
        for a key that cannot be declared.
        """
        for key in keys:
            _check_key(key)
        with transaction(self._pool, self._tenant) as cursor:
            number = self._locked(cursor, collection)
            for key, kind in keys.items():
                cursor.execute(_DECLARE, (self._tenant, number, key, kind))
            values = self._values(number, keys=list(keys))
            cursor.execute(_DROP_VALUES, values)
            cursor.execute(_ADD_VALUES, values)
            count = sum(kind is not None for _, kind in _keys(cursor, self._tenant, number))
            if count > MAX_DECLARED:
                raise UsageError(f"a collection can declare {MAX_DECLARED} keys, not {count}")
        with transaction(self._pool, self._tenant) as cursor:
            cursor.execute("ANALYZE metadata_value")

    def forget(self, collection: str, keys: Sequence[str]) -> list[str]:
        """Index these keys no more; filters on them go on as before, only slower.

        Return those that were declared, in the given order.
        """
        with transaction(self._pool, self._tenant) as cursor:
            number = self._locked(cursor, collection)
            cursor.execute(_DROP_VALUES, self._values(number, keys=list(keys)))
            found = cursor.execute(_FORGET, (self._tenant, number, list(keys))).fetchall()
        were = {str(key) for (key,) in found}
        return [key for key in keys if key in were]

    def _locked(self, cursor: Cursor[Any], collection: str) -> int:
        number = collection_id(cursor, self._tenant, collection)
        cursor.execute(_LOCK, (self._tenant, number))
        return number

    def _values(self, collection: int, *, keys: list[str]) -> dict[str, Any]:
        return _values(self._tenant, collection, keys=keys)


def note(
    cursor: Cursor[Any],
    tenant: str,
    collection: int,
    documents: Sequence[int],
    metadata: Sequence[Mapping[str, Any]],
) -> None:
    """Note the keys of documents just stored, and the values of those that are declared.

    The collection must be locked (`collection_id(..., lock=True)`): declaring waits for that.
    """
    keys = sorted({key for one in metadata for key in one})
    noted = {"tenant": tenant, "collection": collection, "keys": keys, "most": MAX_LISTED_BYTES}
    if keys:
        cursor.execute(_NOTE, noted)
    if any(kind is not None for _, kind in _keys(cursor, tenant, collection)):
        values = _values(tenant, collection, documents=list(documents))
        cursor.execute(_DROP_VALUES, values)
        cursor.execute(_ADD_VALUES, values)


def check(
    cursor: Cursor[Any], tenant: str, collection: int, where: Filter, readers: Readers = None
) -> Mapping[str, KeyType]:
    """Raise QueryError for a field that no document of the collection has, or a wrong type.

    A caller with a limit is told of no key that only documents have which he may not read, nor of
    its type. Returns the types of the declared keys, to him of those that the filter has.
    """
    asked = [(one, filters.key_of(one.field)) for one in filters.comparisons(where)]
    if all(key is None for _, key in asked):
        return {}
    listed = dict(_keys(cursor, tenant, collection))
    declared = {key: kind for key, kind in listed.items() if kind is not None}
    limit = None if readers is None else list(readers)
    values = {"tenant": tenant, "collection": collection, "readers": limit}
    if limit is not None:
        keys = [key for _, key in asked if key in declared]
        readable = cursor.execute(_READABLE_OF, {**values, "keys": keys}).fetchall()
        declared = {key: declared[key] for (key,) in readable}
    for one, key in asked:
        if key is None:
            continue
        if key in declared:
            filters.check_type(one, declared[key])
        elif key in listed and readers is None:
            continue
        elif not first_value(cursor, _HAS_KEY, {**values, "key": key}) and first_value(
            cursor, _ANY_DOCUMENT, values
        ):
            shown = {str(row[0]) for row in cursor.execute(_READABLE_KEYS, values)}
            raise filters.unknown(one.field, shown | declared.keys())
    return declared


def _keys(cursor: Cursor[Any], tenant: str, collection: int) -> list[tuple[str, KeyType | None]]:
    return cursor.execute(_KEYS, (tenant, collection), prepare=True).fetchall()


def _values(
    tenant: str,
    collection: int,
    *,
    documents: list[int] | None = None,
    keys: list[str] | None = None,
) -> dict[str, Any]:
    which = {"tenant": tenant, "collection": collection, "documents": documents, "keys": keys}
    return {**which, "number": NUMBER}


def _check_key(key: str) -> None:
    if not key.strip() or len(key) > MAX_KEY_CHARS or not key.isprintable():
        raise UsageError(
            f"{key[:40]!r} cannot be declared: a key has 1 to {MAX_KEY_CHARS} printable characters"
        )
    if key in OWN_FIELDS or key.startswith(METADATA):
        raise UsageError(f"{key!r} is a document's own field: it needs no declaration")
