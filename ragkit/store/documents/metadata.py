"""The metadata keys of a collection: those that exist, and those that it declares for an index.

A declared key's values are stored once more in a table of their own, which filters on it then read;
no index is made while the program runs, so any role may declare.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from ragkit.errors import UsageError
from ragkit.filters import tree
from ragkit.filters.tree import METADATA, NUMBER, OWN_FIELDS, Filter, KeyType
from ragkit.store.session import TenantSessions

if TYPE_CHECKING:
    from ragkit.store.session import Session

TYPES: Final[tuple[KeyType, ...]] = ("text", "number", "date")
MAX_KEY_CHARS: Final = 100  # of a declared key: it stands in each entry of its index
MAX_LISTED_BYTES: Final = 500  # of a key in the list of all
MAX_DECLARED: Final = 50  # arbitrary: each is written again with every document

_NOTE: Final = """
    INSERT INTO metadata_key (tenant, collection_id, key)
    SELECT c.tenant, c.id, key FROM collection c, unnest(%(keys)s::text[]) AS key
    WHERE c.tenant = %(tenant)s AND c.id = %(collection)s AND octet_length(key) <= %(most)s
    ORDER BY key ON CONFLICT DO NOTHING
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
_KEYS: Final = """
    SELECT key, type FROM metadata_key
    WHERE tenant = %(tenant)s AND collection_id = %(collection)s
"""
_DECLARE: Final = """
    INSERT INTO metadata_key (tenant, collection_id, key, type)
    VALUES (%(tenant)s, %(collection)s, %(key)s, %(type)s)
    ON CONFLICT (tenant, collection_id, key) DO UPDATE SET type = excluded.type
"""
_FORGET: Final = """
    UPDATE metadata_key SET type = NULL
    WHERE tenant = %(tenant)s AND collection_id = %(collection)s AND key = ANY(%(keys)s)
        AND type IS NOT NULL
    RETURNING key
"""
_LOCK: Final = """
    SELECT 1 FROM collection WHERE tenant = %(tenant)s AND id = %(collection)s FOR UPDATE
"""
_ANY_DOCUMENT: Final = """
    SELECT EXISTS (SELECT 1 FROM visible_document d WHERE d.tenant = %(tenant)s
        AND d.collection_id = %(collection)s)
"""
_HAS_KEY: Final = """
    SELECT EXISTS (SELECT 1 FROM visible_document d WHERE d.tenant = %(tenant)s
        AND d.collection_id = %(collection)s AND d.metadata ? %(key)s)
"""
_VISIBLE_KEYS: Final = """
    SELECT DISTINCT jsonb_object_keys(d.metadata) FROM visible_document d
    WHERE d.tenant = %(tenant)s AND d.collection_id = %(collection)s LIMIT 1000
"""
# Those of these declared keys that a visible document has.
_VISIBLE_DECLARED: Final = """
    SELECT k FROM unnest(%(keys)s::text[]) AS k WHERE EXISTS (
        SELECT 1 FROM metadata_value v
        JOIN visible_document d ON d.tenant = v.tenant AND d.id = v.document_id
        WHERE v.tenant = %(tenant)s AND v.collection_id = %(collection)s AND v.key = k)
"""
_COUNTED: Final = """
    SELECT k.key, k.type, count(v.document_id),
        count(v.document_id) FILTER (WHERE k.type = 'number' AND v.number IS NULL
            OR k.type = 'date' AND v.value !~ '^[0-9]{4}-[0-9]{2}-[0-9]{2}')
    FROM metadata_key k LEFT JOIN metadata_value v
        ON v.tenant = k.tenant AND v.collection_id = k.collection_id AND v.key = k.key
    WHERE k.tenant = %(tenant)s AND k.collection_id = %(collection)s AND k.type IS NOT NULL
    GROUP BY k.key, k.type ORDER BY k.key
"""


@dataclass(frozen=True, slots=True)
class DeclaredKey:
    """A declared key, how many documents have it, and how many of those hold another type."""

    key: str
    type: KeyType
    documents: int
    others: int


class MetadataKeys(TenantSessions):
    """The declared metadata keys of one tenant's collections."""

    def declared(self, collection: str) -> list[DeclaredKey]:
        """List the keys that a collection declares. Raises NotFoundError."""
        with self._in_collection(collection) as (session, number):
            rows = session.execute(_COUNTED, {"collection": number})
            return [DeclaredKey(*row) for row in rows]

    def declare(self, collection: str, keys: Mapping[str, KeyType]) -> None:
        """Index these keys of a collection from now on, for its present documents too.

        Waits for documents that are being stored, and they for it. Raises NotFoundError, UsageError
        for a key that cannot be declared.
        """
        for key in keys:
            _check_key(key)
        with self._in_collection(collection) as (session, number):
            session.execute(_LOCK, {"collection": number})
            for key, type_ in keys.items():
                session.execute(_DECLARE, {"collection": number, "key": key, "type": type_})
            _renew_values(session, number, keys=list(keys))
            count = sum(type_ is not None for _, type_ in _keys(session, number))
            if count > MAX_DECLARED:
                raise UsageError(f"a collection can declare {MAX_DECLARED} keys, not {count}")
        with self._session() as session:
            session.execute("ANALYZE metadata_value")

    def forget(self, collection: str, keys: Sequence[str]) -> list[str]:
        """Index these keys no longer; filters on them go on as before, only slower.

        Return those that were declared, in the given order.
        """
        with self._in_collection(collection) as (session, number):
            session.execute(_LOCK, {"collection": number})
            values = _values(number, keys=list(keys))
            session.execute(_DROP_VALUES, values)
            declared = {str(row[0]) for row in session.execute(_FORGET, values)}
        return [key for key in keys if key in declared]


def note(
    session: Session,
    collection: int,
    documents: Sequence[int],
    metadata: Sequence[Mapping[str, Any]],
) -> None:
    """Note the keys of documents just stored, and the values of those that are declared.

    The collection must be locked (`collection_id(..., lock=True)`): declaring waits for that.
    """
    keys = sorted({key for fields in metadata for key in fields})
    if keys:
        session.execute(_NOTE, {"collection": collection, "keys": keys, "most": MAX_LISTED_BYTES})
    if any(type_ is not None for _, type_ in _keys(session, collection)):
        _renew_values(session, collection, documents=list(documents))


def check(
    session: Session, collection: int, where: Filter, *, limited: bool = False
) -> Mapping[str, KeyType]:
    """Raise QueryError for a field that no document of the collection has, or a wrong type.

    Where documents are `limited`, the session is told of no key that only hidden documents have,
    nor of its type. Returns the types of the declared keys, of those in the filter where limited.
    """
    compared = [(item, tree.key_of(item.field)) for item in tree.comparisons(where)]
    if all(key is None for _, key in compared):
        return {}
    listed = dict(_keys(session, collection))
    declared = {key: type_ for key, type_ in listed.items() if type_ is not None}
    values = {"collection": collection}
    if limited:
        keys = [key for _, key in compared if key in declared]
        visible = session.execute(_VISIBLE_DECLARED, {**values, "keys": keys}).fetchall()
        declared = {key: declared[key] for (key,) in visible}
    for comparison, key in compared:
        if key is None:
            continue
        if key in declared:
            tree.check_type(comparison, declared[key])
        elif key in listed and not limited:
            continue
        elif not session.value(_HAS_KEY, {**values, "key": key}) and session.value(
            _ANY_DOCUMENT, values
        ):
            names = {str(row[0]) for row in session.execute(_VISIBLE_KEYS, values)}
            raise tree.unknown(comparison.field, names | declared.keys())
    return declared


def _keys(session: Session, collection: int) -> list[tuple[str, KeyType | None]]:
    return session.execute(_KEYS, {"collection": collection}, prepare=True).fetchall()


def _renew_values(
    session: Session,
    collection: int,
    *,
    documents: list[int] | None = None,
    keys: list[str] | None = None,
) -> None:
    """Write the values of declared keys anew, of these documents or keys."""
    values = _values(collection, documents=documents, keys=keys)
    session.execute(_DROP_VALUES, values)
    session.execute(_ADD_VALUES, values)


def _values(
    collection: int,
    *,
    documents: list[int] | None = None,
    keys: list[str] | None = None,
) -> dict[str, Any]:
    return {"collection": collection, "documents": documents, "keys": keys, "number": NUMBER}


def _check_key(key: str) -> None:
    if not key.strip() or len(key) > MAX_KEY_CHARS or not key.isprintable():
        raise UsageError(
            f"{key[:40]!r} cannot be declared: a key has 1 to {MAX_KEY_CHARS} printable characters"
        )
    if key in OWN_FIELDS or key.startswith(METADATA):
        raise UsageError(f"{key!r} is a document's own field: it needs no declaration")
