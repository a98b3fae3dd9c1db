"""Jobs, options and copies as they are typed: listed, shown, tried again, cancelled."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from pydantic import SecretStr
from typer.testing import CliRunner

from ragkit import Settings
from ragkit.cli.main import app
from ragkit.errors import NotFoundError, SettingsError, UsageError
from ragkit.store.open import Database, open_database
from ragkit.testing import FakeEmbedder, fill, new_document
from ragkit.types import Page


@pytest.fixture
def database(fresh_database: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Database]:
    for name in [name for name in os.environ if "RAGKIT_" in name]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("RAGKIT_DATABASE_URL", fresh_database)
    with open_database(Settings(database_url=SecretStr(fresh_database))) as opened:
        yield opened


def run(*arguments: str) -> str:
    done = CliRunner().invoke(app, arguments)
    assert done.exit_code == 0, (done.output, done.exception)
    return done.stdout


def refused(error: type[Exception], *arguments: str) -> str:
    done = CliRunner().invoke(app, arguments)
    assert isinstance(done.exception, error), (done.output, done.exception)
    return str(done.exception)


def listed(*arguments: str) -> list[tuple[Any, ...]]:
    found = json.loads(run("jobs", "list", "--json", *arguments))["jobs"]
    return [(job["id"], job["state"], job["uri"]) for job in found]


def test_jobs_from_the_list_to_another_try(database: Database) -> None:
    store = database.store("default")
    assert run("jobs", "list").strip() == "There are no jobs."
    number = store.create_collection("c").id
    with store.job_ledger.worker(number) as worker:
        worker.enqueue(["a", "b"])
        _, b = worker.claim(["a", "b"], limit=2)
        figures = {"bytes": 12, "seconds": {"read": 0.5, "parse": 0.25}}
        worker.fail(b, "parse", "it is \x1b[31mencrypted", figures)
        assert listed() == [(2, "failed", "b"), (1, "running", "a")]
        assert listed("--state", "failed", "--collection", "c") == [(2, "failed", "b")]
        assert listed("--limit", "1", "--before", "2") == [(1, "running", "a")]
        assert "\x1b" not in run("jobs", "show", "2")
        shown = json.loads(run("jobs", "show", "2", "--json"))
        assert (shown["stage"], shown["attempts"], shown["figures"]) == ("parse", 1, figures)
        assert "bytes: 12\nseconds: read 0.5, parse 0.25\n" in run("jobs", "show", "2")
        assert run("jobs", "cancel", "1") == "Cancelled: 1 job\n"
        assert json.loads(run("jobs", "cancel", "1", "--json")) == {"cancelled": [1]}
        assert json.loads(run("jobs", "retry", "2", "2", "--json")) == {"retried": [2]}
        assert run("jobs", "retry", "--all", "--collection", "c") == "Queued again: 1 job\n"
        assert listed() == [(2, "queued", "b"), (1, "queued", "a")]
        worker.finish(worker.next(1)[0])
    assert "cannot be cancelled" in refused(UsageError, "jobs", "cancel", "1")
    assert "is no state of a job" in refused(UsageError, "jobs", "list", "--state", "lost")
    assert refused(NotFoundError, "jobs", "show", "9").startswith("There is no job 9")
    assert refused(NotFoundError, "jobs", "retry", "2", "9").startswith("There is no job 9")
    assert "no collection 'd'" in refused(NotFoundError, "jobs", "list", "--collection", "d")
    assert "no collection 'd'" in refused(
        *(NotFoundError, "jobs", "retry", "--all", "--collection", "d")
    )
    for nonsense in ([], ["1", "--all"], ["1", "--collection", "c"]):
        assert "name the jobs" in refused(UsageError, "jobs", "retry", *nonsense)


def test_a_collections_own_options(database: Database) -> None:
    database.store("default").create_collection("c")
    kept = json.loads(run("collections", "options", "c", "ocr=off", "chunk_tokens=99", "--json"))
    assert kept["own"] == {"chunk_tokens": 99, "ocr": "off"}
    assert (kept["options"]["chunk_tokens"], kept["options"]["comments"]) == (99, "drop")
    kept = json.loads(run("collections", "options", "c", "--unset", "ocr", "--json"))
    assert kept["own"] == {"chunk_tokens": 99}
    assert "set here" in run("collections", "options", "c")
    assert "no option 'colour'" in refused(UsageError, "collections", "options", "c", "colour=red")
    assert "no option 'colour'" in refused(
        *(UsageError, "collections", "options", "c", "--unset", "colour")
    )
    assert "write KEY=VALUE" in refused(UsageError, "collections", "options", "c", "ocr")
    assert "at once" in refused(
        *(UsageError, "collections", "options", "c", "ocr=off", "--unset", "ocr")
    )
    refused(SettingsError, "collections", "options", "c", "ocr=perhaps")
    assert json.loads(run("collections", "options", "c", "--json"))["own"] == {"chunk_tokens": 99}
    refused(NotFoundError, "collections", "options", "d")


def test_copies_are_told_and_kept(database: Database) -> None:
    store = database.store("default")
    new = replace(new_document("a.md", "Wings lift."), pages=(Page(0, 1, "iv"),))
    new = replace(new, metadata={"author": "Ann", "year": 2020})
    (document,) = fill(store, FakeEmbedder(), [new])
    number = document.id
    assert store.put_copy("default", "b.md", (new.content_hash, "test"), number)
    copies = [{"uri": "b.md", "similarity": 1.0}]
    assert json.loads(run("documents", "list", "--json"))["documents"][0]["copies"] == copies
    assert "content of a document that is stored already" in run("documents", "list")
    shown = json.loads(run("documents", "show", str(number), "--json"))
    assert shown["copies"] == copies
    assert shown["metadata"] == {"author": "Ann", "year": 2020}
    assert shown["pages"] == [{"start": 0, "page": 1, "page_label": "iv"}]
    said = run("documents", "delete", str(number), "--yes")
    assert said.splitlines()[1] == (
        f"Its content stays as document {number}: b.md has the same (--copies deletes it)."
    )
    assert store.document(number).uri == "b.md"
    assert store.put_copy("default", "d.md", (new.content_hash, "test"), number)
    gone = json.loads(run("documents", "delete", str(number), "--copies", "--yes", "--json"))
    assert gone == {"deleted": [number], "kept_for": {}}
    assert store.known("default") == {}
