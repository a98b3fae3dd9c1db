"""`ragkit conversations feedback`: ratings as a table, as JSON and as items to evaluate with."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from pydantic import SecretStr
from typer.testing import CliRunner

from ragkit import Settings
from ragkit.cli.main import app
from ragkit.errors import RagkitError
from ragkit.store.open import Database, open_database
from ragkit.store.people.feedback import Feedback
from ragkit.store.people.kept_answers import KeptAnswers
from ragkit.types import Answer, Citation

ANSWER = Answer("25 天 [1].", False, "", (Citation(1, 7, "h.md", "H", 2, 10, 20, "25 天"),))


@pytest.fixture
def database(
    fresh_database: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Database]:
    for name in [name for name in os.environ if "RAGKIT_" in name]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("RAGKIT_DATABASE_URL", fresh_database)
    monkeypatch.chdir(tmp_path)
    with open_database(Settings(database_url=SecretStr(fresh_database))) as database:
        yield database


def ratings(database: Database) -> Feedback:
    return Feedback(database.pool, "default", "ann", keep_days=30)


def rate(database: Database, id: str, rating: str, comment: str = "") -> int:
    KeptAnswers(database.pool, "default", "ann", keep_days=30).keep(
        id, collection=f"of-{id}", question="多久\x1b[31m?", answer=ANSWER, completion={}
    )
    return ratings(database).rate(id, "up" if rating == "up" else "down", comment).id


def run(*arguments: str, code: int = 0) -> str:
    done = CliRunner().invoke(app, ["conversations", "feedback", *arguments])
    if isinstance(done.exception, RagkitError):
        assert done.exception.exit_code == code
        return str(done.exception)
    assert done.exit_code == code, (done.output, done.exception)
    return done.stdout


def test_list(database: Database) -> None:
    assert "There are no ratings yet." in run()
    assert json.loads(run("--json")) == {"feedback": []}
    first, second = rate(database, "a", "up"), rate(database, "b", "down", "wrong\n" * 30)
    lines = run().splitlines()
    assert [line.split()[:2] for line in lines[1:]] == [[str(second), "down"], [str(first), "up"]]
    assert "多久\ufffd[31m?" in lines[1]
    assert "wrong wrong" in lines[1]
    assert "…" in lines[1]
    listed = json.loads(run("--json"))["feedback"]
    assert [(one["id"], one["principal"], one["rating"]) for one in listed] == [
        (second, "ann", "down"),
        (first, "ann", "up"),
    ]
    assert len(run("--limit", "1").splitlines()) == 2
    ups = json.loads(run("--rating", "up", "--json"))["feedback"]
    assert [one["id"] for one in ups] == [first]
    assert len(run("--collection", "of-b").splitlines()) == 2


def test_export(database: Database) -> None:
    assert run("--export") == ""
    rate(database, "a", "up")
    rate(database, "b", "down", "no")
    items = [json.loads(line) for line in run("--export").splitlines()]
    assert json.loads(run("--export", "--json")) == items
    assert [item["rating"] for item in items] == ["down", "up"]
    assert items[1]["answer"] == "25 天 [1]."
    assert items[1]["citations"] == [
        {"document": 7, "version": 1, "uri": "h.md", "start": 10, "end": 20, "quote": "25 天"}
    ]
    assert len(run("--export", "--rating", "up").splitlines()) == 1
    assert run("--export", "--rating", "sideways", code=2) == (
        "there is no rating 'sideways': give up or down"
    )


def test_delete(database: Database) -> None:
    number = rate(database, "a", "up")
    assert run("--delete", str(number)) == "Deleted: 1 rating\n"
    assert ratings(database).page(9) == []
    assert run("--delete", str(number), code=2) == f"there is no rating {number}"
