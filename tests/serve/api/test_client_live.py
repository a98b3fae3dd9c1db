"""ragkit.Client against the real app on a port: every call, once, as a program makes it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pytest

import ragkit
from ragkit.client import Client, ServedAnswer
from ragkit.contracts import Embedder
from ragkit.embed.find import default_model
from ragkit.errors import (
    AccessError,
    BusyError,
    IngestError,
    NotFoundError,
    QueryError,
    UsageError,
)
from ragkit.store.open import Database
from ragkit.store.postgres import PostgresStore
from ragkit.testing.corpus import fill, new_document
from ragkit.types import Turn
from tests.serve.api.conftest import Serve, Site

QUESTION = "How many days of paid holiday does an employee have?"


@pytest.fixture
def client(serve: Serve) -> Iterator[Client]:
    with serve(serve_auth="none") as live, ragkit.Client(live.url, timeout_s=30) as client:
        yield client


@contextmanager
def worker(url: str) -> Iterator[None]:
    """Run `ragkit worker` as a process of its own."""
    process = subprocess.Popen(
        [sys.executable, "-m", "ragkit", "worker"],
        env=os.environ | {"RAGKIT_DATABASE_URL": url},
        stderr=subprocess.DEVNULL,
    )
    try:
        yield
    finally:
        process.terminate()
        process.wait(60)


def test_search(client: Client) -> None:
    hits = client.search(QUESTION, k=3)
    assert len(hits) == 3
    assert "holiday" in hits[0].text
    assert hits[0].score >= hits[1].score
    assert hits[0].chunk > 0
    (pump,) = client.search("pump", collection="manuals", k=5, mode="lexical")
    then = datetime(2999, 1, 1, tzinfo=UTC)
    assert client.search("pump", collection="manuals", mode="lexical", as_of=then) == (pump,)
    with pytest.raises(NotFoundError, match="nothing from 1999"):
        client.search("pump", collection="manuals", mode="lexical", as_of=then.replace(year=1999))
    assert (pump.title, pump.text) == ("Pump", "The pump runs at 900 revolutions a minute.")
    with pytest.raises(NotFoundError, match="nowhere"):
        client.search("pump", collection="nowhere")
    with pytest.raises(QueryError, match="k: "):
        client.search("pump", k=0)


@pytest.mark.usefixtures("alone")
def test_old_versions(client: Client, database: Database, loaded_embedder: Embedder) -> None:
    store = PostgresStore(database.pool, keep_versions=1)
    then = datetime.now(UTC)
    text = "An employee has 30 days of paid holiday."
    (leave,) = fill(store, loaded_embedder, [new_document("leave.md", text)])
    assert "30 days" in client.ask(QUESTION).text
    answer = client.ask(QUESTION, as_of=then)
    assert "28 days" in answer.text
    *_, streamed = client.stream(QUESTION, as_of=then)
    assert isinstance(streamed, ServedAnswer)
    assert streamed.citations == answer.citations
    now, old = client.versions(leave.id)
    assert (now.version, now.document, now.to) == (2, leave.id, None)
    assert (old.version, old.document, old.to) == (1, answer.citations[0].document, now.since)
    restored = client.restore(leave.id, 1)
    assert (restored.id, restored.version, restored.title) == (leave.id, 3, "Leave")
    assert "28 days" in client.ask(QUESTION).text
    with pytest.raises(NotFoundError, match="no old version 9"):
        client.restore(leave.id, 9)
    with pytest.raises(NotFoundError, match="no document 999999"):
        client.versions(999999)
    with pytest.raises(UsageError, match="as_of"):
        client.ask(QUESTION, as_of=then.replace(tzinfo=None))


def test_ask_and_stream_give_the_same_answer(client: Client) -> None:
    answer = client.ask(QUESTION)
    assert isinstance(answer, ServedAnswer)
    assert not answer.refused
    first = answer.citations[0]
    assert first.verdict == "verified"
    assert first.quote in answer.text
    assert client.text(first.document)[first.start : first.end] == first.quote
    assert answer.claims[0].support == "quoted"
    assert set(answer.timings) >= {"retrieve", "generate", "verify"}
    *pieces, streamed = client.stream(QUESTION)
    assert isinstance(streamed, ServedAnswer)
    assert "".join(str(piece) for piece in pieces) == streamed.text == answer.text
    assert streamed.citations == answer.citations
    assert streamed.claims == answer.claims
    assert streamed.id != answer.id


def test_options_travel(client: Client) -> None:
    with pytest.raises(QueryError, match="a refusal threshold needs a cut-off"):
        client.ask(QUESTION, refusal_threshold=1.0)
    question = "At how many revolutions a minute does the pump run?"
    pump = client.ask(question, collection="manuals", top_k=1, mode="lexical")
    assert pump.citations[0].title == "Pump"
    told = client.ask("And the pump?", collection="manuals", turns=[Turn("Why?", "Because.")])
    assert told.conversation is None
    with pytest.raises(QueryError, match="top_k"):
        client.ask(QUESTION, top_k=0)


def test_conversations(client: Client, tmp_path: Path) -> None:
    assert list(client.conversations()) == []
    answer = client.ask(QUESTION, conversation="new")
    assert answer.conversation is not None
    *_, second = client.stream("And for trainees?", conversation=answer.conversation)
    assert isinstance(second, ServedAnswer)
    assert second.conversation == answer.conversation
    (listed,) = client.conversations()
    assert listed == client.conversation(answer.conversation)
    assert (listed.id, listed.title, listed.turns) == (answer.conversation, QUESTION, 2)
    first, last = client.turns(listed.id)
    assert (first.question, first.answer, first.citations) == (
        QUESTION,
        answer.text,
        answer.citations,
    )
    assert client.rate(last, "down", "no").answer_id == f"{listed.id}/2"
    assert client.rename_conversation(listed.id, "Holiday").title == "Holiday"
    exported = client.export_conversation(listed.id, tmp_path / "talk.md", format="markdown")
    assert exported.read_text("utf-8").startswith("# Holiday\n")
    with pytest.raises(UsageError, match="is there already"):
        client.export_conversation(listed.id, exported)
    client.delete_conversation(listed.id)
    with pytest.raises(NotFoundError, match="there is no conversation"):
        client.conversation(listed.id)


def test_an_answer_is_replaced(client: Client) -> None:
    answer = client.ask("How many days of holliday?", conversation="new")
    *_, other = client.stream(QUESTION, conversation=answer.conversation, replace_last=True)
    assert isinstance(other, ServedAnswer)
    assert answer.conversation is not None
    (turn,) = client.turns(answer.conversation)
    assert (turn.id, turn.question) == (f"{answer.conversation}/2", QUESTION)
    assert client.conversation(answer.conversation).title == QUESTION
    with pytest.raises(QueryError, match=r"give its id in ragkit\.conversation"):
        client.ask(QUESTION, replace_last=True)


def test_a_conversation_stays_with_its_collection(client: Client) -> None:
    question = "At how many revolutions a minute does the pump run?"
    first = client.ask(question, collection="manuals", conversation="new")
    assert [citation.title for citation in first.citations] == ["Pump"]
    again = client.ask(QUESTION, conversation=first.conversation)
    assert [citation.uri for citation in again.citations] in ([], ["manual.md"])


def test_feedback(client: Client, tmp_path: Path) -> None:
    with pytest.raises(NotFoundError, match="`store`"):
        client.rate(client.ask(QUESTION), "up")
    rated = client.rate(client.ask(QUESTION, keep=True), "up", "对")
    assert (rated.rating, rated.comment, rated.question) == ("up", "对", QUESTION)
    assert list(client.feedback(rating="up")) == [rated]
    assert list(client.feedback(rating="down")) == []
    (line,) = client.export_feedback(tmp_path / "f.jsonl").read_text("utf-8").splitlines()
    assert json.loads(line)["comment"] == "对"
    client.delete_rating(rated)
    assert list(client.feedback()) == []


def test_models(client: Client) -> None:
    vectors = client.embed(["The pump runs.", "年假"], model=default_model())
    assert vectors.shape == (2, 384)
    assert vectors.dtype == np.dtype(np.float32)
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)
    best, other = client.rerank("How fast is the pump?", ["Leave is 28 days.", "The pump is fast."])
    assert (best.index, best.text, other.index) == (1, "The pump is fast.", 0)
    assert best.score > other.score
    assert len(client.rerank("pump", ["a", "b", "c"], top_n=2)) == 2


@pytest.mark.usefixtures("alone")
def test_collections_and_uploads(client: Client, site: Site, tmp_path: Path) -> None:
    assert [one.name for one in client.collections()] == ["default", "manuals"]
    assert client.create_collection("手册").name == client.create_collection("手册").name == "手册"
    path = tmp_path / "leave.md"
    path.write_text("# Leave\n\nEverybody has 31 days of leave a year.\n", encoding="utf-8")
    sent = client.upload("手册", [path, ("假.txt", "年假是三十一天。".encode())], key="once")
    assert (
        client.upload("手册", [path, ("假.txt", "年假是三十一天。".encode())], key="once") == sent
    )
    assert [(job.name, job.state) for job in sent] == [("leave.md", "queued"), ("假.txt", "queued")]
    assert {job.id for job in client.jobs(state="queued")} == {job.id for job in sent}
    with pytest.raises(BusyError, match=r"is queued after 0 s: wait longer"):
        client.wait(sent[0], timeout_s=0)
    with pytest.raises(BusyError):
        client.upload("手册", [("other.txt", b"x")], key="once")
    with worker(site.url):
        done = client.wait(sent[0], timeout_s=60)
        client.wait(sent[1].id, timeout_s=60)
        assert done.document is not None
        assert client.ask("How many days of leave?", collection="手册").citations[0].document == (
            done.document
        )
        assert client.document(done.document).title == "Leave"
        assert len(list(client.documents("手册"))) == 2
        saved = client.source(done.document, tmp_path / "again.md")
        assert saved.read_bytes() == path.read_bytes()
        job = client.replace(done.document, ("leave.md", b"# Leave\n\nIt is 32 days now.\n"))
        assert client.wait(job, timeout_s=60).document == done.document
        assert "32 days" in client.text(done.document)
        (bad,) = client.upload("手册", [("bad.pdf", b"%PDF-1.4 nothing")])
        with pytest.raises(IngestError, match=r"parse: .*\(bad\.pdf\)"):
            client.wait(bad, timeout_s=60)
    client.delete(done.document)
    with pytest.raises(NotFoundError, match="There is no document"):
        client.document(done.document)
    assert client.rename_collection("手册", "员工手册").name == "员工手册"
    client.delete_collection("员工手册")
    assert [one.name for one in client.collections()] == ["default", "manuals"]
    with pytest.raises(NotFoundError):
        list(client.documents("手册"))


def test_a_key_that_may_not(serve: Serve, key: Callable[..., str]) -> None:
    secret = key("read")
    with serve() as live:
        with pytest.raises(AccessError, match="there is no valid key"):
            Client(live.url).ask(QUESTION)
        with Client(live.url, secret) as client:
            assert client.ask(QUESTION).citations
            with pytest.raises(AccessError, match="it needs the scope 'write'"):
                client.upload("default", [("a.txt", b"x")])
            with pytest.raises(AccessError, match="it needs the scope 'admin'"):
                list(client.feedback())
            assert secret not in repr(client)


def test_long_texts_come_in_pieces(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ragkit_serve.api.documents.MAX_CHARS", 7)
    (pump,) = client.documents("manuals")
    assert client.text(pump.id) == "The pump runs at 900 revolutions a minute."
