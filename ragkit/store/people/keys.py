"""Access keys in PostgreSQL, by the hash of a secret that is never stored."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final

from ragkit.store.connection.transactions import EVERYBODY
from ragkit.store.session import open_session

if TYPE_CHECKING:
    from psycopg import Connection, Cursor
    from psycopg_pool import ConnectionPool

USED_EVERY_S: Final = 300  # arbitrary: how fine the time of last use is; not one write per call

_ADD = """
    INSERT INTO access_key
        (tenant, name, principal, scopes, collections, sha256, expires_at, groups)
    VALUES (%(tenant)s, %(name)s, %(principal)s, %(scopes)s, %(collections)s, %(sha256)s,
        %(expires_at)s, %(groups)s)
    RETURNING id
"""
_FIND = """
    SELECT id, tenant, principal, scopes, collections, sha256, groups
    FROM ragkit_find_key(%(sha256)s, %(used_every_s)s)
"""
_LIST = """
    SELECT id, tenant, principal, name, scopes, collections, created_at, expires_at, revoked_at,
        last_used_at,
        CASE WHEN revoked_at IS NOT NULL THEN 'revoked'
             WHEN expires_at <= now() THEN 'expired' ELSE 'valid' END,
        groups
    FROM access_key WHERE %s::text IS NULL OR tenant = %s ORDER BY tenant, id
"""
_ANY = "SELECT ragkit_any_key()"
_REVOKE = """
    UPDATE access_key SET revoked_at = coalesce(revoked_at, now())
    WHERE id = %s AND (%s::text IS NULL OR tenant = %s)
"""


@dataclass(frozen=True, slots=True)
class FoundKey:
    """A valid key: its tenant, principal and scopes, and the hash it was looked up by."""

    id: int
    tenant: str
    principal: str
    scopes: tuple[str, ...]
    collections: tuple[str, ...] | None
    sha256: bytes
    groups: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class StoredKey:
    """A key as it is listed; `state` is "valid", "expired" or "revoked"."""

    id: int
    tenant: str
    principal: str
    name: str
    scopes: tuple[str, ...]
    collections: tuple[str, ...] | None
    created_at: datetime
    expires_at: datetime | None
    revoked_at: datetime | None
    last_used_at: datetime | None
    state: str
    groups: tuple[str, ...] = ()


class Keys:
    """The keys of a database, of all its tenants; methods raise DatabaseError.

    `owner` opens a connection that sees all tenants, for lists and changes across them.
    """

    def __init__(
        self,
        pool: ConnectionPool[Connection[Any]],
        owner: Callable[[], AbstractContextManager[Connection[Any]]] | None = None,
    ) -> None:
        self._pool = pool
        self._owner = owner or pool.connection

    def add(
        self,
        *,
        tenant: str,
        principal: str,
        name: str,
        scopes: Sequence[str],
        collections: Sequence[str] | None,
        sha256: bytes,
        expires_at: datetime | None,
        groups: Sequence[str] = (),
    ) -> int:
        """Store a key by its hash and return its number."""
        values = {
            "name": name,
            "principal": principal,
            "scopes": list(scopes),
            "collections": None if collections is None else list(collections),
            "sha256": sha256,
            "expires_at": expires_at,
            "groups": list(groups),
        }
        with open_session(self._pool, tenant) as session:
            return int(session.value(_ADD, values))

    def find(self, sha256: bytes) -> FoundKey | None:
        """Find the key with this hash that is neither revoked nor expired, and note its use."""
        values = {"sha256": sha256, "used_every_s": USED_EVERY_S}
        with open_session(self._pool, EVERYBODY) as session:
            row = session.row(_FIND, values)
        return None if row is None else found_key(row)

    def all(self, tenant: str | None = None) -> Sequence[StoredKey]:
        """List the keys of a tenant, or of all of them, oldest first."""
        with self._cursor(tenant) as cursor:
            return [_stored(row) for row in cursor.execute(_LIST, (tenant, tenant))]

    def any_valid(self) -> bool:
        """Tell whether any key of any tenant is valid now."""
        with open_session(self._pool, EVERYBODY) as session:
            return bool(session.value(_ANY))

    def revoke(self, number: int, tenant: str | None = None) -> bool:
        """Make a key invalid from now on; tell whether there is such a key."""
        with self._cursor(tenant) as cursor:
            return cursor.execute(_REVOKE, (number, tenant, tenant)).rowcount == 1

    @contextmanager
    def _cursor(self, tenant: str | None) -> Iterator[Cursor[Any]]:
        """Open a cursor that sees a tenant's keys, or those of all tenants for None."""
        if tenant is not None:
            with open_session(self._pool, tenant) as session:
                yield session.cursor
            return
        with self._owner() as conn, conn.cursor() as cursor:
            yield cursor


def found_key(row: Sequence[Any]) -> FoundKey:
    """Read a row of a key or log-in that was found by its hash."""
    number, tenant, principal, scopes, collections, sha256, groups = row
    return FoundKey(
        id=number,
        tenant=tenant,
        principal=principal,
        scopes=tuple(scopes),
        collections=None if collections is None else tuple(collections),
        sha256=bytes(sha256),
        groups=tuple(groups),
    )


def _stored(row: Sequence[Any]) -> StoredKey:
    number, tenant, principal, name, scopes, collections, *columns, groups = row
    listed = None if collections is None else tuple(collections)
    values = (number, tenant, principal, name, tuple(scopes), listed, *columns, tuple(groups))
    return StoredKey(*values)
