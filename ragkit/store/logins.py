"""Browser log-ins in PostgreSQL, by the hash of a token that is never here.

A log-in by key is valid as long as its key; one by single sign-on carries what it may do itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ragkit.store.keys import FoundKey
from ragkit.store.lending import connection

if TYPE_CHECKING:
    from psycopg import Connection
    from psycopg_pool import ConnectionPool

_ADD = """
    INSERT INTO login (tenant, sha256, key_id, principal, scopes, collections, expires_at)
    VALUES (%s, %s, %s, %s, %s, %s, now() + make_interval(secs => %s))
"""
_FIND = """
    SELECT coalesce(k.id, 0), l.tenant, l.principal, l.scopes, l.collections, l.sha256
    FROM login l LEFT JOIN access_key k ON k.tenant = l.tenant AND k.id = l.key_id
    WHERE l.sha256 = %s AND l.expires_at > now() AND (l.key_id IS NULL OR (k.id IS NOT NULL
        AND k.revoked_at IS NULL AND (k.expires_at IS NULL OR k.expires_at > now())))
"""
_END = "DELETE FROM login WHERE sha256 = %s"
_SWEEP = "DELETE FROM login WHERE expires_at <= now()"
_BEGIN = """
    INSERT INTO login_begun (state_sha256, nonce, verifier, next, expires_at)
    VALUES (%s, %s, %s, %s, now() + make_interval(secs => %s))
"""
_FINISH = """
    DELETE FROM login_begun WHERE state_sha256 = %s
    RETURNING nonce, verifier, next, expires_at > now()
"""
_SWEEP_BEGUN = "DELETE FROM login_begun WHERE expires_at <= now()"


@dataclass(frozen=True, slots=True)
class Begun:
    """A single sign-on that was begun: what its answer must match, and the page to go on to."""

    nonce: str
    verifier: str
    next: str


class Logins:
    """The log-ins of a database, of all its tenants; methods raise DatabaseError."""

    def __init__(self, pool: ConnectionPool[Connection[Any]]) -> None:
        self._pool = pool

    def add(
        self,
        *,
        sha256: bytes,
        tenant: str,
        principal: str,
        scopes: Sequence[str],
        collections: Sequence[str] | None,
        key: int | None,
        lasts_s: float,
    ) -> None:
        """Keep a log-in by its hash; those that have ended are swept out."""
        kept = None if collections is None else list(collections)
        with connection(self._pool) as conn:
            conn.execute(_SWEEP)
            conn.execute(_ADD, (tenant, sha256, key, principal, list(scopes), kept, lasts_s))

    def find(self, sha256: bytes) -> FoundKey | None:
        """Find the log-in with this hash, if it and its key are still valid."""
        with connection(self._pool) as conn:
            row = conn.execute(_FIND, (sha256,)).fetchone()
        if row is None:
            return None
        number, tenant, principal, scopes, collections, found = row
        kept = None if collections is None else tuple(collections)
        return FoundKey(number, tenant, principal, tuple(scopes), kept, bytes(found))

    def end(self, sha256: bytes) -> None:
        """Forget a log-in."""
        with connection(self._pool) as conn:
            conn.execute(_END, (sha256,))

    def begin(self, state_sha256: bytes, begun: Begun, lasts_s: float) -> None:
        """Keep what a single sign-on's answer must match."""
        values = (state_sha256, begun.nonce, begun.verifier, begun.next, lasts_s)
        with connection(self._pool) as conn:
            conn.execute(_SWEEP_BEGUN)
            conn.execute(_BEGIN, values)

    def finish(self, state_sha256: bytes) -> Begun | None:
        """Take what was begun under this state, once; None when there is none in time."""
        with connection(self._pool) as conn:
            row = conn.execute(_FINISH, (state_sha256,)).fetchone()
        if row is None or not row[3]:
            return None
        return Begun(*row[:3])
