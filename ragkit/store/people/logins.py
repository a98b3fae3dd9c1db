"""Browser log-ins in PostgreSQL, by the hash of a token that is never stored.

A log-in by key is valid as long as its key; one by single sign-on carries what it may do itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ragkit.store.connection.transactions import EVERYBODY
from ragkit.store.people.keys import FoundKey, found_key
from ragkit.store.session import open_session

if TYPE_CHECKING:
    from psycopg import Connection
    from psycopg_pool import ConnectionPool

_ADD = """
    INSERT INTO login (tenant, sha256, key_id, principal, scopes, collections, groups, expires_at)
    VALUES (%(tenant)s, %(sha256)s, %(key)s, %(principal)s, %(scopes)s, %(collections)s,
        %(groups)s, now() + make_interval(secs => %(lasts_s)s))
"""
_FIND = """
    SELECT key_id, tenant, principal, scopes, collections, sha256, groups
    FROM ragkit_find_login(%(sha256)s)
"""
_END = "SELECT ragkit_end_login(%(sha256)s)"
_SWEEP = "SELECT ragkit_forget_logins()"
_BEGIN = """
    INSERT INTO login_begun (state_sha256, nonce, verifier, next, expires_at)
    VALUES (%(digest)s, %(nonce)s, %(verifier)s, %(next)s,
        now() + make_interval(secs => %(lasts_s)s))
"""
_FINISH = """
    DELETE FROM login_begun WHERE state_sha256 = ANY(%(digests)s)
    RETURNING state_sha256, nonce, verifier, next, expires_at > now()
"""
_SWEEP_BEGUN = """
    DELETE FROM login_begun WHERE expires_at <= now() OR state_sha256 IN
        (SELECT state_sha256 FROM login_begun ORDER BY expires_at DESC OFFSET %(most)s)
"""


@dataclass(frozen=True, slots=True)
class Begun:
    """A single sign-on that was begun: what its answer must match, and the page to return to."""

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
        """Store a log-in by its hash; delete those that have ended."""
        values = {
            "sha256": sha256,
            "key": key,
            "principal": principal,
            "scopes": list(scopes),
            "collections": None if collections is None else list(collections),
            "groups": list(groups),
            "lasts_s": lasts_s,
        }
        with open_session(self._pool, tenant) as session:
            session.execute(_SWEEP)
            session.execute(_ADD, values)

    def find(self, sha256: bytes) -> FoundKey | None:
        """Find the log-in with this hash, if it and its key are still valid."""
        with open_session(self._pool, EVERYBODY) as session:
            row = session.row(_FIND, {"sha256": sha256})
        return None if row is None else found_key(row)

    def end(self, sha256: bytes) -> None:
        """Forget a log-in."""
        with open_session(self._pool, EVERYBODY) as session:
            session.execute(_END, {"sha256": sha256})

    def begin(self, digest: bytes, begun: Begun, lasts_s: float, *, most: int) -> None:
        """Store what a single sign-on's answer must match; of unfinished ones, the `most` newest.

        `digest` is of the state and the browser's secret.
        """
        values = {
            "digest": digest,
            "nonce": begun.nonce,
            "verifier": begun.verifier,
            "next": begun.next,
            "lasts_s": lasts_s,
        }
        with open_session(self._pool, EVERYBODY) as session:
            session.execute(_SWEEP_BEGUN, {"most": most - 1})
            session.execute(_BEGIN, values)

    def finish(self, digests: Sequence[bytes]) -> tuple[bytes, Begun] | None:
        """Take a sign-on begun under one of these digests, once; None if none is in time."""
        with open_session(self._pool, EVERYBODY) as session:
            row = session.row(_FINISH, {"digests": list(digests)})
        if row is None or not row[4]:
            return None
        return bytes(row[0]), Begun(*row[1:4])
