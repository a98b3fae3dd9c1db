"""Browser log-ins: random tokens for cookies, each standing for a key or a person signed in.

A token is shown once, to the browser; the database has its sha256.
"""

from __future__ import annotations

import hmac
import re
import secrets
from hashlib import sha256
from typing import TYPE_CHECKING, Final

from ragkit.access.keys import Access

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ragkit.store.open import Database
    from ragkit.store.people.logins import Begun

LASTS_S: Final = 12 * 3600.0  # arbitrary: a working day
SIGN_ON_S: Final = 600.0  # arbitrary: how long a password may be looked for
MAX_BEGUN: Final = 10_000  # arbitrary: single sign-ons that are not finished, of all browsers
_TOKEN = re.compile(r"[0-9a-f]{64}")  # 256 bits


def begin(
    database: Database,
    *,
    tenant: str,
    principal: str,
    scopes: Sequence[str],
    collections: Sequence[str] | None = None,
    key: int | None = None,
    groups: Sequence[str] = (),
) -> str:
    """Log somebody in and return the token for his cookie. Raises DatabaseError."""
    from ragkit.store.people.logins import Logins

    token = secrets.token_hex(32)
    Logins(database.pool).add(
        sha256=_digest(token),
        tenant=tenant,
        principal=principal,
        scopes=scopes,
        collections=collections,
        key=key,
        lasts_s=LASTS_S,
        groups=groups,
    )
    return token


def verify(database: Database, token: str) -> Access | None:
    """Return what a cookie's token stands for; None when it is unknown or has ended."""
    from ragkit.store.people.logins import Logins

    if not _TOKEN.fullmatch(token):
        return None
    digest = _digest(token)
    login = Logins(database.pool).find(digest)
    if login is None or not hmac.compare_digest(login.sha256, digest):
        return None
    who = (login.id, login.tenant, login.principal)
    return Access(*who, login.scopes, login.collections, login.groups)


def end(database: Database, token: str) -> None:
    """Log out; a token that stands for nothing is no error."""
    from ragkit.store.people.logins import Logins

    Logins(database.pool).end(_digest(token))


def begin_sign_on(database: Database, begun: Begun) -> tuple[str, str]:
    """Keep what a single sign-on's answer must match.

    Return the state to send to the provider, and the secret that the browser keeps: only both
    together finish the sign-on.
    """
    from ragkit.store.people.logins import Logins

    state, secret = secrets.token_urlsafe(32), secrets.token_urlsafe(32)
    Logins(database.pool).begin(_bound(state, secret), begun, SIGN_ON_S, most=MAX_BEGUN)
    return state, secret


def finish_sign_on(
    database: Database, state: str, browser: Sequence[str]
) -> tuple[int, Begun] | None:
    """Take what was kept for a state and one of a browser's secrets, once.

    Return the secret's place and what was kept; None where nothing matches, or it is too old.
    """
    from ragkit.store.people.logins import Logins

    digests = [_bound(state, secret) for secret in browser]
    sign_on = Logins(database.pool).finish(digests) if digests else None
    if sign_on is None:
        return None
    digest, begun = sign_on
    return digests.index(digest), begun


def _bound(state: str, secret: str) -> bytes:
    """Return the digest that a state and a browser's secret give together."""
    return hmac.digest(secret.encode(), state.encode("utf-8", "replace"), sha256)


def _digest(token: str) -> bytes:
    return sha256(token.encode("utf-8", "replace")).digest()
