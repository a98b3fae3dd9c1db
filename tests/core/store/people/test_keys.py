"""Access keys on the real database: shown once, kept as a hash, valid until they are not."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest
from pydantic import SecretStr

from ragkit import Settings
from ragkit.access import keys
from ragkit.errors import NotFoundError, UsageError
from ragkit.store.open import Database, open_database

NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)


@pytest.fixture
def database(fresh_database: str) -> Iterator[Database]:
    with open_database(Settings(database_url=SecretStr(fresh_database))) as database:
        yield database


def everything(database: Database) -> str:
    with database.pool.connection() as conn:
        return str(conn.execute("SELECT to_jsonb(k)::text FROM access_key k").fetchall())


def test_a_key_stands_for_what_it_was_made_for(database: Database) -> None:
    made = keys.create(
        database,
        name="reports",
        tenant="acme",
        principal="ann",
        scopes=["write", "read", "read"],
        collections=["b", "a", "b"],
    )
    assert re.fullmatch(r"rk_[0-9a-f]{64}", made.secret)
    access = keys.verify(database, made.secret)
    assert access == made.access
    assert access == keys.Access(made.access.id, "acme", "ann", ("read", "write"), ("b", "a"))
    other = keys.create(database, name="reports")
    assert other.secret != made.secret
    assert keys.verify(database, other.secret) == keys.Access(
        other.access.id, "default", "default", ("read",), None
    )


def test_the_secret_is_kept_nowhere_and_printed_by_nothing(database: Database) -> None:
    made = keys.create(database, name="mine")
    assert made.secret not in repr(made)
    kept = everything(database)
    assert made.secret.removeprefix("rk_") not in kept
    assert hashlib.sha256(made.secret.encode()).hexdigest() in kept
    assert made.secret not in repr(keys.list_keys(database))


def test_whatever_is_invalid_looks_the_same(database: Database) -> None:
    revoked = keys.create(database, name="revoked")
    keys.revoke(database, revoked.access.id)
    soon = datetime.now(UTC) + timedelta(days=1)
    expired = keys.create(database, name="expired", expires_at=soon)
    assert keys.verify(database, expired.secret) is not None
    with database.pool.connection() as conn:
        conn.execute("UPDATE access_key SET expires_at = now() WHERE id = %s", (expired.access.id,))
    valid = keys.create(database, name="valid").secret
    for presented in (
        *(revoked.secret, expired.secret, "rk_" + "0" * 64),
        *("", "rk_", "\0", "rk_" + "é" * 64, "\ud800", valid + "\n", valid.upper(), " " + valid),
        valid.replace("rk_", ""),
    ):
        assert keys.verify(database, presented) is None
    states = {key.name: key.state for key in keys.list_keys(database)}
    assert states == {"revoked": "revoked", "expired": "expired", "valid": "valid"}


def test_the_last_use_is_noted_but_not_at_every_call(database: Database) -> None:
    made = keys.create(database, name="mine")

    def last_used() -> datetime | None:
        return keys.list_keys(database)[0].last_used_at

    assert last_used() is None
    keys.verify(database, made.secret)
    first = last_used()
    assert first is not None
    keys.verify(database, made.secret)
    assert last_used() == first
    with database.pool.connection() as conn:
        conn.execute("UPDATE access_key SET last_used_at = now() - interval '301 seconds'")
    earlier = last_used()
    keys.verify(database, made.secret)
    assert earlier is not None
    assert (last_used() or earlier) > earlier


def test_keys_are_listed_and_revoked_by_tenant(database: Database) -> None:
    mine = keys.create(database, name="mine", tenant="a").access.id
    theirs = keys.create(database, name="theirs", tenant="b").access.id
    assert [key.id for key in keys.list_keys(database)] == [mine, theirs]
    assert [key.name for key in keys.list_keys(database, tenant="b")] == ["theirs"]
    with pytest.raises(NotFoundError, match=f"there is no key {theirs}:"):
        keys.revoke(database, theirs, tenant="a")
    keys.revoke(database, theirs, tenant="b")
    keys.revoke(database, theirs)  # a second time changes nothing
    for number in (mine + theirs, 0, -1, 2**63):
        with pytest.raises(NotFoundError):
            keys.revoke(database, number)


def test_when_a_key_expires_is_written_in_days_or_as_a_date() -> None:
    assert keys.expiry("90d", moment=NOW) == datetime(2027, 2, 19, 12, tzinfo=UTC)
    assert keys.expiry("2027-01-31") == datetime(2027, 2, 1, tzinfo=UTC)
    for text in ("", "d", "0d", "90", "99999d", "-1d", "2027-02-30", "9999-12-31", "20270131"):
        with pytest.raises(UsageError, match="90d"):
            keys.expiry(text)


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"name": " "}, "name"),
        ({"name": "a\nb"}, "name"),
        ({"name": "x", "tenant": ""}, "tenant"),
        ({"name": "x", "principal": "p" * 201}, "principal"),
        ({"name": "x", "collections": [""]}, "collection"),
        ({"name": "x", "scopes": ["root"]}, "'root'"),
        ({"name": "x", "scopes": []}, "nothing"),
        ({"name": "x", "expires_at": datetime(2020, 1, 1, tzinfo=UTC)}, "2020-01-01"),
    ],
)
def test_a_key_that_makes_no_sense_is_not_made(
    database: Database, wrong: dict[str, object], said: str
) -> None:
    with pytest.raises(UsageError, match=said):
        keys.create(database, **wrong)  # type: ignore[arg-type]
    assert keys.list_keys(database) == []
