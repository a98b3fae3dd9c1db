"""Browser log-ins in PostgreSQL, by the hash of a token that is never here.

A log-in by key is valid as long as its key; one by single sign-on carries what it may do itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ragkit.store.keys import FoundKey
from ragkit.store.lending import EVERYBODY, connection

if TYPE_CHECKING:
    from psycopg import Connection
    from psycopg_pool import ConnectionPool

_ADD = """
    INSERT INTO login (tenant, sha256, key_id, principal, scopes, collections, groups, expires_at)
    VALUES (%s, %s, %s, %s, %s, %s, %s, now() + make_interval(secs => %s))
"""
_FIND = """
    SELECT key_id, tenant, principal, scopes, collections, sha256, groups
    FROM ragkit_find_login(%s)
"""
_END = "SELECT ragkit_end_login(%s)"
_SWEEP = "SELECT ragkit_forget_logins()"
_BEGIN = """
    INSERT INTO login_begun (state_sha256, nonce, verifier, next, expires_at)
    VALUES (%s, %s, %s, %s, now() + make_interval(secs => %s))
"""
_FINISH = """
    DELETE FROM login_begun WHERE state_sha256 = ANY(%s)
    RETURNING state_sha256, nonce, verifier, next, expires_at > now()
"""
_SWEEP_BEGUN = """
    DELETE FROM login_begun WHERE expires_at <= now() OR state_sha256 IN
        (SELECT state_sha256 FROM login_begun ORDER BY expires_at DESC OFFSET %s)
"""


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
        groups: Sequence[str] = (),
    ) -> None:
        """Keep a log-in by its hash; those that have ended are swept out."""
        kept = None if collections is None else list(collections)
        with connection(self._pool, tenant) as conn:
            conn.execute(_SWEEP)
            conn.execute(
                _ADD, (tenant, sha256, key, principal, list(scopes), kept, list(groups), lasts_s)
            )

    def find(self, sha256: bytes) -> FoundKey | None:
        """Find the log-in with this hash, if it and its key are still valid."""
        with connection(self._pool, EVERYBODY) as conn:
            row = conn.execute(_FIND, (sha256,)).fetchone()
        if row is None:
            return None
        number, tenant, principal, scopes, collections, found, groups = row
        kept = None if collections is None else tuple(collections)
        who = (number, tenant, principal, tuple(scopes))
        return FoundKey(*who, kept, bytes(found), tuple(groups))

    def end(self, sha256: bytes) -> None:
        """Forget a log-in."""
        with connection(self._pool, EVERYBODY) as conn:
            conn.execute(_END, (sha256,))

    def begin(self, digest: bytes, begun: Begun, lasts_s: float, *, most: int) -> None:
        """Keep what a single sign-on's answer must match; of those unfinished, the `most` newest.

        `digest` is of the state and the browser's secret.
        """
        values = (digest, begun.nonce, begun.verifier, begun.next, lasts_s)
        with connection(self._pool, EVERYBODY) as conn:
            conn.execute(_SWEEP_BEGUN, (most - 1,))
            conn.execute(_BEGIN, values)

    def finish(self, digests: Sequence[bytes]) -> tuple[bytes, Begun] | None:
        """Take what was begun under any of these digests, once; None when there is none in time."""
        with connection(self._pool, EVERYBODY) as conn:
            row = conn.execute(_FINISH, (list(digests),)).fetchone()
        if row is None or not row[4]:
            return None
        return bytes(row[0]), Begun(*row[1:4])
