"""Old versions as they are typed: listed, searched, taken back."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from datetime import UTC, datetime

import pytest
from pydantic import SecretStr
from typer.testing import CliRunner

from ragkit import KnowledgeBase, Settings
from ragkit.answer.write.extract import ExtractiveGenerator
from ragkit.cli.main import app
from ragkit.conversation import Conversation
from ragkit.errors import NotFoundError, UsageError
from ragkit.store.admin.backup import content
from ragkit.store.connection.connect import connect
from ragkit.store.documents.history import History
from ragkit.store.open import Database, open_database
from ragkit.store.people.conversations import Conversations
from ragkit.testing import FakeStore
from ragkit.testing.corpus import fill, new_document
from ragkit.testing.embedder import FakeEmbedder

OLD, NEW = "The wombat digs at night.", "The wombat digs at noon."


@pytest.fixture
def database(fresh_database: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Database]:
    for name in [name for name in os.environ if "RAGKIT_" in name]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("RAGKIT_DATABASE_URL", fresh_database)
    settings = Settings(database_url=SecretStr(fresh_database), keep_versions=3)
    with open_database(settings) as database:
        fill(database.store("default"), FakeEmbedder(), [new_document("a.md", OLD)])
        yield database


def run(*arguments: str) -> str:
    done = CliRunner().invoke(app, arguments)
    assert done.exit_code == 0, (done.output, done.exception)
    return done.stdout


def replaced(database: Database) -> datetime:
    """Replace the document; return a moment before that."""
    moment = datetime.now(UTC)
    fill(database.store("default"), FakeEmbedder(), [new_document("a.md", NEW)])
    return moment


def test_versions_are_listed_searched_and_taken_back(database: Database) -> None:
    moment = replaced(database).isoformat()
    (number,) = (one.id for one in database.store("default").documents("default"))
    found = json.loads(run("documents", "versions", str(number), "--json"))["versions"]
    assert [one["version"] for one in found] == [2, 1]
    assert found[0]["to"] is None
    assert found[1]["to"] == found[0]["since"]
    assert run("documents", "versions", str(number)).splitlines()[1].split()[0] == "2"
    search = ("search", "wombat", "--mode", "lexical", "--json")
    (hit,) = json.loads(run(*search, "--as-of", moment))["hits"]
    assert (hit["text"], hit["document"]) == (OLD, found[1]["id"])
    assert json.loads(run(*search))["hits"][0]["text"] == NEW
    assert run("documents", "show", str(hit["document"])).strip() == OLD
    assert run("documents", "restore", str(number), "--version", "1") == (
        f"Document {number}: version 1 is restored, as version 3.\n"
    )
    assert json.loads(run(*search))["hits"][0]["text"] == OLD


def test_what_is_no_time_is_an_error(database: Database) -> None:
    calendar = ("", "yesterday", "2026-13-01", "2026-02-30", "2026-01-31 25:00", "0000-01-01")
    for time in (*calendar, "2026-01-31\0", "-1", "1", "９", "99999-01-01"):
        for command in (["search"], ["ask"], ["why", "--document", "1"], ["chat"]):
            asked = [] if command == ["chat"] else ["wombat"]
            done = CliRunner().invoke(app, [*command, *asked, "--as-of", time], input="wombat?\n")
            assert isinstance(done.exception, UsageError), done.output
            assert "is no time" in str(done.exception)


def test_an_answer_of_then_cites_what_was_said_then(database: Database) -> None:
    moment = replaced(database)
    store = database.store("default")
    kb = KnowledgeBase(store, FakeEmbedder(), ExtractiveGenerator(), collection="default")
    then = kb.adapted(as_of=moment, refusal_threshold=0)
    for mode in ("hybrid", "dense", "lexical"):
        assert [hit.text for hit in then.search("wombat", mode=mode)] == [OLD]
        assert [hit.text for hit in kb.search("wombat", mode=mode)] == [NEW]
    (cited,) = then.ask("When does the wombat dig?").citations
    assert (cited.quote, cited.verdict, cited.version) == (OLD, "verified", 1)
    assert store.text(cited.document)[cited.start : cited.end] == OLD
    with pytest.raises(NotFoundError, match="nothing from"):
        kb.adapted(as_of=datetime(2020, 1, 1, tzinfo=UTC)).search("wombat")


def test_why_follows_the_version_of_the_moment(database: Database) -> None:
    before = datetime.now(UTC).isoformat()
    fill(database.store("default"), FakeEmbedder(), [new_document("b.md", "A yak is big.")])
    moment = replaced(database).isoformat()
    store = database.store("default")
    ids = {one.uri: one.id for one in store.documents("default")}
    why = ("why", "When does the wombat dig?", "--mode", "lexical", "--no-answer", "--json")
    then = json.loads(run(*why, "--document", "a.md", "--as-of", moment))
    says = {step["name"]: step["says"] for step in then["steps"]}
    assert then["lost"] is None or then["lost"] == "gate"
    old = next(one.id for one in History(database.pool, "default").of(ids["a.md"]) if one.to)
    assert says["version"] == f"version 1 was current then: document {old}"
    assert "rank 1 of 1" in says["words"]
    assert "version" not in [
        step["name"] for step in json.loads(run(*why, "--document", "a.md"))["steps"]
    ]
    by_number = json.loads(run(*why, "--document", str(old), "--as-of", moment))
    assert "rank 1 of 1" in {step["name"]: step["says"] for step in by_number["steps"]}["words"]
    today = json.loads(run(*why, "--document", str(old)))
    assert (today["lost"], "--as-of" in today["remedy"]) == ("version", True)
    absent = json.loads(run(*why, "--document", "b.md", "--as-of", before))
    assert absent["lost"] == "version"
    assert absent["remedy"].startswith(f"`ragkit documents versions {ids['b.md']}`")


def test_a_follow_up_considers_no_passage_that_was_replaced(database: Database) -> None:
    store = database.store("default")
    kb = KnowledgeBase(store, FakeEmbedder(), ExtractiveGenerator(), collection="default")
    talk = Conversation(
        kb.adapted(refusal_threshold=0), Conversations(database.pool, "default", "ada")
    )
    (cited,) = talk.ask("When does the wombat dig?").citations
    assert (cited.quote, cited.version) == (OLD, 1)
    moment = replaced(database)
    for asked, said in ((talk.kb, NEW), (talk.kb.adapted(as_of=moment), OLD)):
        seen: list[str] = []
        talk.kb = asked.adapted(on_found=lambda hits: seen.extend(hit.text for hit in hits))  # noqa: B023
        talk.ask("And the wombat?")
        assert seen == [said]


def test_a_store_without_versions_says_so() -> None:
    kb = KnowledgeBase(FakeStore(), FakeEmbedder(), ExtractiveGenerator(), collection="default")
    with pytest.raises(UsageError, match="no old versions"):
        kb.adapted(as_of=datetime.now(UTC))


def test_a_backup_is_checked_by_what_is_current(database: Database, fresh_database: str) -> None:
    replaced(database)
    with connect(fresh_database) as conn, conn.transaction(), conn.cursor() as cursor:
        held = content(cursor)
    assert held.tables["document"][0] == 2
    assert len(held.searches) == 2  # of the one current passage, by words and by meaning
