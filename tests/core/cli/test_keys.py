"""`ragkit keys` as it is typed: the secret shown once, the list without it."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from pydantic import SecretStr
from typer.testing import CliRunner, Result

from ragkit import Settings
from ragkit.access import keys
from ragkit.cli.main import app
from ragkit.errors import RagkitError
from ragkit.store.open import Database, open_database


@pytest.fixture
def database(
    fresh_database: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Database]:
    for name in [name for name in os.environ if "RAGKIT_" in name]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("RAGKIT_DATABASE_URL", fresh_database)
    monkeypatch.setenv("RAGKIT_TENANT", "acme")
    monkeypatch.chdir(tmp_path)
    with open_database(Settings(database_url=SecretStr(fresh_database))) as database:
        yield database


def run(*arguments: str) -> Result:
    done = CliRunner().invoke(app, ["keys", *arguments])
    assert done.exit_code == 0, (done.output, done.exception)
    return done


def error(*arguments: str) -> str:
    done = CliRunner().invoke(app, ["keys", *arguments])
    assert isinstance(done.exception, RagkitError), (done.output, done.exception)
    assert done.exception.exit_code == 2
    return str(done.exception)


def test_a_key_is_made_listed_and_revoked(database: Database) -> None:
    assert "There are no keys yet." in run("list").stdout
    done = run(
        *("create", "--name", "报表", "--principal", "ann", "--scope", "read", "--scope", "write"),
        *("--collection", "a", "--collection", "b", "--expires", "90d"),
    )
    secret = done.stdout.strip()
    assert re.fullmatch(r"rk_[0-9a-f]{64}", secret)  # alone, for a pipe
    assert "not shown again" in done.stderr
    access = keys.verify(database, secret)
    assert access is not None
    assert (access.tenant, access.principal) == ("acme", "ann")
    assert (access.scopes, access.collections) == (("read", "write"), ("a", "b"))
    out = run("list").stdout
    assert "报表" in out
    assert "a, b" in out
    assert "valid" in out
    (listed,) = json.loads(run("list", "--json").stdout)["keys"]
    assert listed["scopes"] == ["read", "write"]
    assert listed["last_used_at"] is not None
    assert secret[3:] not in out + str(listed)
    assert "Revoked key" in run("revoke", str(access.id)).stdout
    assert keys.verify(database, secret) is None
    assert "revoked" in run("list").stdout
    assert json.loads(run("revoke", str(access.id), "--json").stdout) == {"revoked": access.id}


def test_the_name_is_an_argument_or_as_before_an_option(database: Database) -> None:
    for arguments in (("create", "laptop"), ("create", "--name", "laptop")):
        secret = run(*arguments).stdout.strip()
        access = keys.verify(database, secret)
        assert access is not None
        assert access.scopes == ("read",)
    assert [key.name for key in keys.list_keys(database)] == ["laptop", "laptop"]
    assert "`ragkit keys create laptop`" in error("create")
    assert "`ragkit keys create laptop`" in error("create", "a", "--name", "b")


def test_as_json(database: Database) -> None:
    made = json.loads(
        run("create", "--name", "x", "--tenant", "t", "--expires", "2999-12-31", "--json").stdout
    )
    assert keys.verify(database, made.pop("key")) is not None
    assert made == {
        "id": 1,
        "name": "x",
        "tenant": "t",
        "principal": "default",
        "scopes": ["read"],
        "collections": None,
        "groups": [],
        "expires_at": "3000-01-01T00:00:00+00:00",
    }
    assert json.loads(run("list", "--json", "--tenant", "acme").stdout) == {"keys": []}
    assert len(json.loads(run("list", "--json", "--tenant", "t").stdout)["keys"]) == 1


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("create", "--name", ""), "name"),
        (("create", "--name", "x", "--scope", "root"), "'root'"),
        (("create", "--name", "x", "--expires", "soon"), "90d"),
        (("create", "--name", "x", "--expires", "2020-01-01"), "has passed"),
        (("create", "--name", "x", "--tenant", ""), "tenant"),
        (("revoke", "77"), "there is no key 77"),
    ],
)
def test_nonsense_is_one_line_and_makes_no_key(
    database: Database, arguments: tuple[str, ...], said: str
) -> None:
    assert said in error(*arguments)
    assert keys.list_keys(database) == []
