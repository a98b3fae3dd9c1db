"""Sharing changed step by step, and what follows for files, citations and callers."""

from __future__ import annotations

import io
from dataclasses import replace
from typing import Any

import pytest

from ragkit import Settings
from ragkit.access.library import Caller, Library
from ragkit.conversation.passages import fetch_passages
from ragkit.errors import IngestError, NotFoundError, UsageError
from ragkit.store.documents.sharing import Change, Shares, Sharing
from ragkit.store.jobs.upload_bytes import Sources, Upload
from ragkit.store.jobs.uploads import UploadJobs
from ragkit.store.jobs.worker import Job
from ragkit.store.people.conversations import Conversations, StoredTurn
from ragkit.store.people.kept_answers import KeptAnswers
from ragkit.testing.corpus import fill, new_document
from ragkit.types import Answer, Citation
from tests.core.access.conftest import ADA, HR, SHOWN, Place
from tests.core.store.uploads import source_of, take_upload, upload_worker


def test_nobody_deletes_what_he_may_not_read(place: Place) -> None:
    with pytest.raises(NotFoundError, match="There is no document"):
        place.store(ADA).delete_document("open", place.hidden[0])
    with pytest.raises(NotFoundError, match="There is no document"):
        place.store(ADA).remove_document("open", place.hidden[0], with_copies=True)
    assert place.store(ADA).delete_uris("open", ["hidden0.md"]) == 0
    with pytest.raises(NotFoundError, match="There is no collection"):
        place.store(ADA).delete_collection("closed")
    assert place.store(None).document(place.hidden[0]).uri == "hidden0.md"


def test_the_copies_of_a_hidden_document_are_hidden(place: Place) -> None:
    store = place.database.store("copied")
    (one,) = fill(store, place.embedder, [new_document("one.md", "The wombat digs.")], "c")
    (known,) = store.known("c").values()
    assert store.put_copy("c", "two.md", known, one.id)
    Shares(place.database.pool, "copied").document(one.id, Change(add=("group:hr",)))
    assert place.database.store("copied", readers=ADA).copies("c") == {}
    assert place.database.store("copied", readers=ADA).known("c") == {}
    (seen,) = place.database.store("copied", readers=HR).copies("c").values()
    assert [copy.uri for copy in seen] == ["two.md"]


def test_a_name_that_is_taken_cannot_be_used(place: Place) -> None:
    with pytest.raises(UsageError, match="choose another name"):
        place.store(ADA).create_collection("closed")
    assert place.store(HR).create_collection("closed").documents == 1
    with pytest.raises(UsageError, match="choose another name"):
        place.store(ADA).rename_collection("open", "closed")
    with pytest.raises(NotFoundError, match="There is no collection"):
        place.store(ADA).rename_collection("closed", "mine")


def test_a_document_keeps_owner_and_readers_when_it_is_taken_in_again(place: Place) -> None:
    store = place.database.store("again")
    (first,) = fill(store, place.embedder, [SHOWN[0]], "c")
    shares = Shares(place.database.pool, "again")
    made = shares.document(first.id, Change(add=("group:hr",), owner="user:eve"))
    (second,) = fill(store, place.embedder, [SHOWN[0]], "c")
    assert (second.id, second.version) == (first.id, 2)
    assert shares.document(first.id) == made == Sharing("user:eve", ("group:hr",))
    with pytest.raises(NotFoundError):
        place.database.store("again", readers=ADA).document(first.id)
    assert place.database.store("again", readers=("user:eve",)).document(first.id).version == 2


def test_sharing_is_changed_step_by_step(place: Place) -> None:
    place.database.store("steps").create_collection("c")
    shares = Shares(place.database.pool, "steps")
    assert shares.collection("c") == Sharing()
    assert shares.collection(
        "c",
        Change(
            add=(
                "user:ada",
                "group:hr",
            )
        ),
    ).readers == (*("group:hr", "user:ada"),)
    assert shares.collection("c", Change(remove=("user:ada",))).readers == ("group:hr",)
    # The last one taken out does not open it to everybody.
    assert shares.collection("c", Change(remove=("group:hr",))) == Sharing(None, ())
    with pytest.raises(NotFoundError):
        Shares(place.database.pool, "steps", ADA).collection("c")
    shares.collection("c", Change(owner="user:ada"))
    assert Shares(place.database.pool, "steps", ADA).collection("c").owner == "user:ada"
    assert shares.collection("c", Change(readers=None)) == Sharing("user:ada", None)
    assert shares.collection("c", Change(owner="")) == Sharing(None, None)
    for nobody in ("ada", "user:", "team:x", "user:\n", "user:" + "x" * 300, "user: "):
        with pytest.raises(UsageError, match="no principal"):
            shares.collection("c", Change(add=(nobody,)))
    with pytest.raises(UsageError, match="nobody can be taken out"):
        shares.collection("c", Change(remove=("user:ada",)))


def test_uploads_are_those_of_whoever_may_know_of_them(place: Place) -> None:
    """A file of a name that is taken by what she may not read is kept beside it, untold."""
    pool, store = place.database.pool, place.database.store("files")
    store.create_collection("c")

    def upload(who: str, readers: tuple[str, ...], text: str) -> int:
        sources = Sources(pool, "files", readers)
        (job,) = sources.keep("c", [Upload("plan.txt", io.BytesIO(text.encode()))], principal=who)
        with upload_worker(pool, "files") as worker:
            taken = take_upload(worker)
            assert taken.id == job
            document = new_document(taken.uri, text)
            vectors = place.embedder.embed_passages([text])
            made = store.put_document(
                "c", document, place.embedder.space, vectors, job=taken, source=source_of(taken)
            )
        return made.id

    own = upload("bob", HR, "Bob plans.")
    shares = Shares(pool, "files")
    assert shares.document(own) == Sharing("user:bob", None)
    shares.document(own, Change(readers=()))
    other = upload("ada", ADA, "Ada plans.")
    assert other != own
    assert (store.text(own), store.text(other)) == ("Bob plans.", "Ada plans.")
    assert upload("ada", ADA, "Ada plans anew.") == other
    assert [one.name for one in UploadJobs(pool, "files", HR).page(limit=9)] == ["plan.txt"] * 3
    mine = UploadJobs(pool, "files", ADA).page(limit=9)
    assert [job.document for job in mine] == [other, other]
    with pytest.raises(NotFoundError, match="There is no job"):
        UploadJobs(pool, "files", ADA).get(1 + min(job.id for job in mine) - 2)
    with pytest.raises(NotFoundError, match=f"There is no document {own}"):
        Sources(pool, "files", ADA).of_document(own)
    with pytest.raises(NotFoundError, match=f"There is no document {own}"):
        Sources(pool, "files", ADA).keep(
            "c", [Upload("plan.txt", io.BytesIO(b"x"))], principal="ada", document=own
        )
    assert Sources(pool, "files", HR).of_document(own).name == "plan.txt"
    for readers, number in ((ADA, 2), (HR, 1), (None, 3)):
        attempts = place.database.store("files", readers=readers).attempts("c", "plan.txt")
        assert len(attempts) == number


def test_a_waiting_upload_replaces_nothing_that_its_sender_may_not_read_any_more(
    place: Place,
) -> None:
    """What was for all when the file came, and is not when it is taken in, is left as it is."""
    pool, store = place.database.pool, place.database.store("waiting")
    store.create_collection("c")
    shares = Shares(pool, "waiting")

    def send(who: str, text: str, readers: tuple[str, ...], document: int | None = None) -> int:
        files = [Upload("plan.txt", io.BytesIO(text.encode()))]
        sources = Sources(pool, "waiting", readers)
        return sources.keep("c", files, principal=who, document=document)[0]

    def take(text: str) -> int:
        with upload_worker(pool, "waiting") as worker:
            taken = take_upload(worker)
            document = replace(new_document(taken.uri, text), content_hash=text)
            fingerprints = frozenset({document.fingerprint})
            which: dict[str, Any] = {"job": taken, "source": source_of(taken)}
            same = store.put_source("c", document.content_hash, fingerprints, **which)
            try:
                if same is not None:
                    return same
                vectors = place.embedder.embed_passages([text])
                made = store.put_document("c", document, place.embedder.space, vectors, **which)
                return made.id
            except IngestError as error:
                worker.fail(taken, error.stage, error.reason)
                raise

    send("ada", "Ada plans.", ADA)
    hers = take("Ada plans.")
    send("bob", "Bob plans.", HR)
    send("bob", "Ada plans.", HR, document=hers)  # the very same text: not even said to be there
    shares.document(hers, Change(readers=()))
    his = take("Bob plans.")
    assert his != hers
    assert (store.text(hers), store.document(hers).version) == ("Ada plans.", 1)
    assert (shares.document(hers).owner, shares.document(his).owner) == ("user:ada", "user:bob")
    assert take("Ada plans.") == his
    assert Sources(pool, "waiting", ADA).of_document(hers).sha256  # her file is kept as well
    # His groups count, as they were when he sent it.
    send("bob", "Bob corrects Ada.", HR, document=his)
    shares.document(his, Change(readers=("group:hr",), owner="user:eve"))
    assert take("Bob corrects Ada.") == his
    # Nothing is left to do where what he has of that name is another's by now.
    send("bob", "Bob plans on.", HR)
    shares.document(his, Change(readers=()))
    with pytest.raises(IngestError, match="may not read it: send the file under another name"):
        take("Bob plans on.")
    job = send("bob", "Bob plans.", HR)
    shares.collection("c", Change(readers=(), owner="user:ada"))
    with pytest.raises(IngestError, match="the collection is not open any more to whoever sent"):
        take("Bob plans.")
    assert UploadJobs(pool, "waiting", HR).get(job).document is None
    assert store.text(his) == "Bob corrects Ada."


def test_who_sent_a_file_that_a_later_one_replaced_is_told_of_what_his_groups_may_read(
    place: Place,
) -> None:
    pool, store = place.database.pool, place.database.store("later")
    store.create_collection("c")
    with upload_worker(pool, "later") as worker:

        def send(text: str) -> Job:
            files = [Upload("plan.txt", io.BytesIO(text.encode()))]
            Sources(pool, "later", HR).keep("c", files, principal="bob")
            return take_upload(worker)

        def make(taken: Job, text: str) -> int:
            document, space = new_document(taken.uri, text), place.embedder.space
            vectors = place.embedder.embed_passages([text])
            which: dict[str, Any] = {"job": taken, "source": source_of(taken)}
            return store.put_document("c", document, space, vectors, **which).id

        number = make(send("first"), "first")
        shares = Shares(pool, "later")
        for readers, told in ((("group:hr",), number), (("group:it",), None)):
            shares.document(number, Change(owner="user:eve", readers=("group:hr",)))
            slow, quick = send("slow"), send("quick")
            assert make(quick, "quick") == number
            shares.document(number, Change(readers=readers))
            worker.replaced(slow)
            with pool.connection() as other:
                query = "SELECT state, document_id FROM job WHERE tenant = 'later' AND id = %s"
                assert other.execute(query, (slow.id,)).fetchone() == ("done", told)


def cite(place: Place, document: int, quote: str) -> Citation:
    return Citation(1, document, "u", "t", None, 0, 9, quote)


def test_citations_are_shown_as_long_as_their_documents_may_be_read(place: Place) -> None:
    from uuid import uuid4

    pool = place.database.pool
    citations = (cite(place, place.hidden[0], "merger"), cite(place, place.shown[0], "wombat"))
    conversation, token = uuid4(), uuid4()
    hers = Conversations(pool, "default", "ada", ADA)
    hers.begin(conversation, token, new=("open", "t"))
    hers.finish(conversation, token, StoredTurn("q", "q", "a", False, "", citations))
    (turn,) = hers.turns(conversation)
    assert [one.quote for one in turn.citations] == ["wombat"]
    (whole,) = Conversations(pool, "default", "ada").turns(conversation)
    assert len(whole.citations) == 2

    answer = Answer("a", False, "", citations)
    told = {
        "choices": [
            {"message": {"context": {"citations": [{"document": c.document}]}}} for c in citations
        ]
    }
    kept = KeptAnswers(pool, "default", "ada", keep_days=9, readers=ADA)
    kept.keep("k1", collection="open", question="q", answer=answer, completion=told)
    found = kept.completion("k1")["choices"]
    assert [one["message"]["context"]["citations"] for one in found] == [
        *([], [{"document": place.shown[0]}]),
    ]


def test_a_conversations_passages_are_read_anew(place: Place) -> None:
    """What an earlier turn was shown is in no prompt once it may not be read any more."""
    library = Library(Settings(), place.database)
    hers = library.conversation(Caller("default", "ada"), collection="open")
    assert fetch_passages(hers.kb.store, "open", [], place.hidden_chunks) == {}
    caller = Caller("default", "ada", groups=("hr",))
    theirs = library.conversation(caller, collection="open")
    found = fetch_passages(theirs.kb.store, "open", [], place.hidden_chunks)
    assert {hit.document for hit in found.values()} == set(place.hidden)


def test_a_library_keeps_callers_apart(place: Place) -> None:
    library = Library(Settings(), place.database)
    library.embedder = library.embedders.default = place.embedder
    for _ in range(2):  # composed, then kept
        for caller, seen in (
            (Caller("default", "ada"), False),
            (Caller("default", "bob", groups=("hr",)), True),
            (Caller("default", "root", operator=True), True),
        ):
            names = [one.name for one in library.collections(caller)]
            assert ("closed" in names) == seen
            hits = library.open(caller, "open").search("merger", mode="lexical")
            assert bool(hits) == seen
