"""Access keys in PostgreSQL: the statements, by the hash of a secret that is never here.

It knows nothing of how a secret is made or presented, or of what a scope allows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final

from ragkit.store.lending import EVERYBODY, connection

if TYPE_CHECKING:
    from psycopg import Connection
    from psycopg_pool import ConnectionPool

USED_EVERY_S: Final = 300  # arbitrary: how fine the time of last use is; not one write per call

_ADD = """
    INSERT INTO access_key
        (tenant, name, principal, scopes, collections, sha256, expires_at, groups)
    VALUES (%s, %s, %s, %s, %s, %s, %s, %s)
    RETURNING id
"""
_FIND = """
    SELECT id, tenant, principal, scopes, collections, sha256, groups
    FROM ragkit_find_key(%s, %s)
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
    """A valid key: whom it stands for, what it may do, and the hash it was found by."""

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

    `owner` opens a connection that sees all tenants, for what is asked of all of them.
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
        """Keep a key by its hash and return its number."""
        values = (
            *(tenant, name, principal, list(scopes)),
            *(None if collections is None else list(collections), sha256, expires_at),
            list(groups),
        )
        with connection(self._pool, tenant) as conn:
            row = conn.execute(_ADD, values).fetchone()
            assert row is not None
            return int(row[0])

    def find(self, sha256: bytes) -> FoundKey | None:
        """Find the key with this hash that is neither revoked nor expired, and note its use."""
        with connection(self._pool, EVERYBODY) as conn:
            row = conn.execute(_FIND, (sha256, USED_EVERY_S)).fetchone()
        if row is None:
            return None
        number, tenant, principal, scopes, collections, found, groups = row
        return FoundKey(
            id=number,
            tenant=tenant,
            principal=principal,
            scopes=tuple(scopes),
            collections=None if collections is None else tuple(collections),
            sha256=bytes(found),
            groups=tuple(groups),
        )

    def all(self, tenant: str | None = None) -> Sequence[StoredKey]:
        """List the keys of a tenant, or of all of them, oldest first."""
        with self._of(tenant) as conn:
            return [_stored(row) for row in conn.execute(_LIST, (tenant, tenant))]

    def any_valid(self) -> bool:
        """Tell whether any key of any tenant is valid now."""
        with connection(self._pool, EVERYBODY) as conn:
            row = conn.execute(_ANY).fetchone()
            assert row is not None
            return bool(row[0])

    def revoke(self, number: int, tenant: str | None = None) -> bool:
        """Make a key invalid from now on; tell whether there is such a key."""
        with self._of(tenant) as conn:
            return conn.execute(_REVOKE, (number, tenant, tenant)).rowcount == 1

    def _of(self, tenant: str | None) -> AbstractContextManager[Connection[Any]]:
        """Lend a connection that sees a tenant's keys, or everybody's for None."""
        return self._owner() if tenant is None else connection(self._pool, tenant)


def _stored(row: Sequence[Any]) -> StoredKey:
    number, tenant, principal, name, scopes, collections, *rest, groups = row
    kept = None if collections is None else tuple(collections)
    values = (number, tenant, principal, name, tuple(scopes), kept, *rest, tuple(groups))
    return StoredKey(*values)
