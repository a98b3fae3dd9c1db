"""Access keys in PostgreSQL: the statements, by the hash of a secret that is never here.

It knows nothing of how a secret is made or presented, or of what a scope allows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final

from ragkit.store.lending import connection

if TYPE_CHECKING:
    from psycopg import Connection
    from psycopg_pool import ConnectionPool

USED_EVERY_S: Final = 300  # arbitrary: how fine the time of last use is; not one write per call

_ADD = """
    INSERT INTO access_key (tenant, name, principal, scopes, collections, sha256, expires_at)
    VALUES (%s, %s, %s, %s, %s, %s, %s)
    RETURNING id
"""
_FIND = """
    SELECT id, tenant, principal, scopes, collections, sha256,
        last_used_at IS NULL OR last_used_at < now() - make_interval(secs => %s)
    FROM access_key
    WHERE sha256 = %s AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > now())
"""
_USED = "UPDATE access_key SET last_used_at = now() WHERE tenant = %s AND id = %s"
_LIST = """
    SELECT id, tenant, principal, name, scopes, collections, created_at, expires_at, revoked_at,
        last_used_at,
        CASE WHEN revoked_at IS NOT NULL THEN 'revoked'
             WHEN expires_at <= now() THEN 'expired' ELSE 'valid' END
    FROM access_key WHERE %s::text IS NULL OR tenant = %s ORDER BY tenant, id
"""
_ANY = """
    SELECT EXISTS (SELECT 1 FROM access_key
        WHERE revoked_at IS NULL AND (expires_at IS NULL OR expires_at > now()))
"""
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


class Keys:
    """The keys of a database, of all its tenants; methods raise DatabaseError."""

    def __init__(self, pool: ConnectionPool[Connection[Any]]) -> None:
        self._pool = pool

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
    ) -> int:
        """Keep a key by its hash and return its number."""
        values = (
            *(tenant, name, principal, list(scopes)),
            *(None if collections is None else list(collections), sha256, expires_at),
        )
        with connection(self._pool) as conn:
            row = conn.execute(_ADD, values).fetchone()
            assert row is not None
            return int(row[0])

    def find(self, sha256: bytes) -> FoundKey | None:
        """Find the key with this hash that is neither revoked nor expired, and note its use."""
        with connection(self._pool) as conn:
            row = conn.execute(_FIND, (USED_EVERY_S, sha256)).fetchone()
            if row is None:
                return None
            number, tenant, principal, scopes, collections, found, stale = row
            if stale:
                conn.execute(_USED, (tenant, number))
        return FoundKey(
            id=number,
            tenant=tenant,
            principal=principal,
            scopes=tuple(scopes),
            collections=None if collections is None else tuple(collections),
            sha256=bytes(found),
        )

    def all(self, tenant: str | None = None) -> Sequence[StoredKey]:
        """List the keys of a tenant, or of all of them, oldest first."""
        with connection(self._pool) as conn:
            return [_stored(row) for row in conn.execute(_LIST, (tenant, tenant))]

    def any_valid(self) -> bool:
        """Tell whether any key of any tenant is valid now."""
        with connection(self._pool) as conn:
            row = conn.execute(_ANY).fetchone()
            assert row is not None
            return bool(row[0])

    def revoke(self, number: int, tenant: str | None = None) -> bool:
        """Make a key invalid from now on; tell whether there is such a key."""
        with connection(self._pool) as conn:
            return conn.execute(_REVOKE, (number, tenant, tenant)).rowcount == 1


def _stored(row: Sequence[Any]) -> StoredKey:
    number, tenant, principal, name, scopes, collections, *rest = row
    kept = None if collections is None else tuple(collections)
    return StoredKey(number, tenant, principal, name, tuple(scopes), kept, *rest)
