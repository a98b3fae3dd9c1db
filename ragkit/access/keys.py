"""Access keys: random secrets that stand for a tenant, a principal and what they may do.

A secret is shown once, when it is made; the database has its sha256. What a scope allows is for
those who ask: `ragkit mcp` and the HTTP API.
"""

from __future__ import annotations

import hmac
import re
import secrets
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from typing import TYPE_CHECKING, Final

from ragkit.errors import NotFoundError, UsageError

if TYPE_CHECKING:
    from ragkit.store.open import Database
    from ragkit.store.people.keys import StoredKey

PREFIX: Final = "rk_"
SCOPES: Final = ("read", "write", "admin", "metrics")
MAX_NAME_CHARS: Final = 200  # arbitrary: names are typed by people
MAX_DAYS: Final = 36_500  # arbitrary: a hundred years

_SECRET = re.compile(rf"{PREFIX}[0-9a-f]{{64}}")  # 256 bits


@dataclass(frozen=True, slots=True)
class Access:
    """Whom a key stands for and what it may do; `collections` None means all of the tenant's."""

    id: int
    tenant: str
    principal: str
    scopes: tuple[str, ...]
    collections: tuple[str, ...] | None
    groups: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class NewKey:
    """A key just made; `secret` cannot be had again."""

    secret: str = field(repr=False)
    access: Access


def create(
    database: Database,
    *,
    name: str,
    tenant: str = "default",
    principal: str = "default",
    scopes: Sequence[str] = ("read",),
    collections: Sequence[str] | None = None,
    expires_at: datetime | None = None,
    groups: Sequence[str] = (),
) -> NewKey:
    """Make a key. Scopes are "read", "write", "admin" and "metrics"; none includes another.

    `groups` are those whose documents it may read besides its principal's.

    Raises UsageError for a name that is none, an unknown scope or a time that has passed.
    """
    from ragkit.store.people.keys import Keys

    for label, value in (("name", name), ("tenant", tenant), ("principal", principal)):
        _check_name(label, value)
    for collection in collections or ():
        _check_name("collection", collection)
    for group in groups:
        _check_name("group", group)
    granted = tuple(scope for scope in SCOPES if scope in scopes)
    strange = [scope for scope in scopes if scope not in SCOPES]
    if strange or not granted:
        problem = repr(strange[0]) if strange else "nothing"
        raise UsageError(f"a key cannot have the scope {problem}: use {', '.join(SCOPES)}")
    if expires_at is not None and expires_at <= datetime.now(UTC):
        raise UsageError(
            f"a key cannot expire at {expires_at:%Y-%m-%d %H:%M} UTC, which has passed"
        )
    allowed = tuple(dict.fromkeys(collections)) if collections else None
    member = tuple(dict.fromkeys(groups))
    secret = PREFIX + secrets.token_hex(32)
    number = Keys(database.pool).add(
        tenant=tenant,
        principal=principal,
        name=name,
        scopes=granted,
        collections=allowed,
        sha256=_digest(secret),
        expires_at=expires_at,
        groups=member,
    )
    return NewKey(secret, Access(number, tenant, principal, granted, allowed, member))


def verify(database: Database, presented: str) -> Access | None:
    """Return what a presented key stands for; None for one that is malformed, unknown, expired or
    revoked, which are not to be told apart.

    Raises DatabaseError. What was presented appears in no message.
    """
    from ragkit.store.people.keys import Keys

    if not _SECRET.fullmatch(presented):
        return None
    digest = _digest(presented)
    key = Keys(database.pool).find(digest)
    if key is None or not hmac.compare_digest(key.sha256, digest):
        return None
    who = (key.id, key.tenant, key.principal)
    return Access(*who, key.scopes, key.collections, key.groups)


def list_keys(database: Database, *, tenant: str | None = None) -> Sequence[StoredKey]:
    """List the keys of a tenant, or of all tenants, with their states and never their secrets."""
    from ragkit.store.people.keys import Keys

    return Keys(database.pool, database.owner).all(tenant)


def any_valid(database: Database) -> bool:
    """Tell whether the database has any key that is valid now. Raises DatabaseError."""
    from ragkit.store.people.keys import Keys

    return Keys(database.pool).any_valid()


def revoke(database: Database, number: int, *, tenant: str | None = None) -> None:
    """Make a key invalid from now on; one that is revoked stays so. Raises NotFoundError."""
    from ragkit.store.people.keys import Keys

    # PostgreSQL's bigint; a larger number is no key's.
    keys = Keys(database.pool, database.owner)
    if not 0 < number < 2**63 or not keys.revoke(number, tenant):
        raise NotFoundError(f"there is no key {number}: `ragkit keys list` shows those there are")


def expiry(text: str, *, moment: datetime | None = None) -> datetime:
    """Read when a key expires: days from now as in "90d", or the last day it is valid, in UTC.

    >>> expiry("2027-01-31").isoformat()
    '2027-02-01T00:00:00+00:00'
    """
    days = re.fullmatch(r"(\d{1,5})d", text)
    if days and 0 < int(days[1]) <= MAX_DAYS:
        return (moment or datetime.now(UTC)) + timedelta(days=int(days[1]))
    if re.fullmatch(r"\d{4}-\d\d-\d\d", text):
        try:
            return datetime.fromisoformat(text).replace(tzinfo=UTC) + timedelta(days=1)
        except (ValueError, OverflowError):
            pass
    raise UsageError(f"{text!r} is no time to expire: write days as 90d, or a date as 2027-01-31")


def _digest(secret: str) -> bytes:
    return sha256(secret.encode()).digest()


def _check_name(label: str, value: str) -> None:
    if not value.strip() or len(value) > MAX_NAME_CHARS or not value.isprintable():
        raise UsageError(
            f"a key's {label} cannot be {value[:40]!r}: use 1 to {MAX_NAME_CHARS} printable"
            " characters"
        )
