"""Ownership and sharing: what somebody may not read is, on every path, not there for him."""

from __future__ import annotations

import inspect
import io
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any, Final

import pytest
from pydantic import SecretStr

from ragkit import Settings
from ragkit.contracts import Embedder
from ragkit.conversation.shown import shown
from ragkit.errors import NotFoundError, QueryError, UsageError
from ragkit.filters import parse
from ragkit.knowledge import KnowledgeBase
from ragkit.library import Caller, Library
from ragkit.store.browse import Browser
from ragkit.store.conversations import Conversations, StoredTurn
from ragkit.store.kept import KeptAnswers
from ragkit.store.migrate import migrate
from ragkit.store.open import Database, open_database
from ragkit.store.postgres import PostgresStore
from ragkit.store.reader import PostgresReader
from ragkit.store.sharing import Change, Shares, Sharing, principals, to_readers
from ragkit.store.sources import Sources, Upload
from ragkit.store.upload_worker import UploadWorker
from ragkit.store.uploads import UploadJobs
from ragkit.testing.answering import FakeGenerator
from ragkit.testing.corpus import fill, new_document
from ragkit.testing.embedder import FakeEmbedder
from ragkit.types import Answer, Citation, Span

ADA: Final = principals("ada")
HR: Final = principals("bob", ["hr"])
SHOWN: Final = [new_document(f"shown{n}.md", f"The wombat {n} digs.") for n in range(5)]
# Each says more of wombats than the others, so that these come first wherever they count.
HIDDEN: Final = [
    new_document(f"hidden{n}.md", "wombat wombat merger", "A second part.", title="merger")
    for n in range(40)
]
CLOSED: Final = new_document("closed.md", "The closed wombat knows of the merger.", title="merger")


@dataclass(frozen=True)
class Place:
    """A collection "open" that hides documents from ada, and one, "closed", that is not for her."""

    database: Database
    embedder: Embedder
    shown: tuple[int, ...]
    hidden: tuple[int, ...]
    closed: int
    hidden_chunks: tuple[int, ...]

    def store(self, readers: tuple[str, ...] | None) -> PostgresStore:
        return self.database.store("default", readers=readers)

    def knowledge(self, readers: tuple[str, ...] | None, collection: str = "open") -> KnowledgeBase:
        return KnowledgeBase(
            self.store(readers), self.embedder, FakeGenerator(), collection=collection
        )


@pytest.fixture(scope="module")
def place(database_url: str) -> Iterator[Place]:
    import psycopg

    with psycopg.connect(database_url, autocommit=True) as conn:
        conn.execute("CREATE DATABASE test_access TEMPLATE template0")
    url = database_url.replace("/postgres?", "/test_access?")
    with open_database(Settings(database_url=SecretStr(url))) as database:
        embedder = FakeEmbedder()
        store = database.store("default")
        shown = fill(store, embedder, SHOWN, "open")
        hidden = fill(store, embedder, HIDDEN, "open")
        (closed,) = fill(store, embedder, [CLOSED], "closed")
        shares = Shares(database.pool, "default")
        for document in hidden:
            shares.document(document.id, to_readers(["group:hr"]))
        shares.collection("closed", to_readers(["group:hr"]))
        with database.pool.connection() as conn:
            rows = conn.execute(
                "SELECT k.id FROM chunk k JOIN document d ON d.id = k.document_id"
                " WHERE d.uri LIKE 'hidden%' OR d.uri = 'closed.md' ORDER BY k.id"
            ).fetchall()
        yield Place(
            database,
            embedder,
            tuple(one.id for one in shown),
            tuple(one.id for one in hidden),
            closed.id,
            tuple(row[0] for row in rows),
        )
    with psycopg.connect(database_url, autocommit=True) as conn:
        conn.execute("DROP DATABASE test_access WITH (FORCE)")


Read = Callable[[PostgresStore, Place], object]


def reading(read: Callable[[PostgresReader, Place], object]) -> Read:
    def ask(store: PostgresStore, place: Place) -> object:
        with store.snapshot() as reader:
            return read(reader, place)

    return ask


# Every method of a store: how to read what is hidden by it, or why there is nothing to read.
STORE: Final[dict[str, Read | str]] = {
    "collections": lambda store, _: [one.name for one in store.collections()],
    "documents": lambda store, _: [one.uri for one in store.documents("open")],
    "document": lambda store, place: store.document(place.hidden[0]),
    "named": lambda store, _: store.named("open"),
    "known": lambda store, _: store.known("open"),
    "text": lambda store, place: store.text(place.hidden[0]),
    "pages": lambda store, place: (store.pages(place.hidden[0]), "hidden"),
    "analyser": lambda store, _: (store.analyser("closed"), "closed"),
    "active_space": lambda store, _: (store.active_space("closed"), "closed"),
    "delete_document": "test_nobody_deletes_what_he_may_not_read",
    "delete_collection": "test_nobody_deletes_what_he_may_not_read",
    "snapshot": "its methods are those of the reader",
    "attempts": "test_uploads_are_those_of_whoever_may_know_of_them",
    "add_collection": "test_a_name_that_is_taken_cannot_be_used",
    "create_collection": "test_a_name_that_is_taken_cannot_be_used",
    "put_document": "it writes, for the worker and for commands",
    "put_documents": "it writes, for the worker and for commands",
    "put_source": "it writes, for the worker",
    "finish_load": "it writes",
    "set_effort": "it writes",
    "spaces": lambda store, _: (store.spaces.active("closed"), "closed"),
    "job_ledger": "for `ragkit ingest`",
}
READER: Final[dict[str, Callable[[PostgresReader, Place], object] | str]] = {
    "nearest": lambda reader, place: reader.nearest(
        "open", place.embedder.space, place.embedder.embed_query("merger"), 200
    ),
    "similarities": lambda reader, place: reader.similarities(
        place.embedder.space, place.embedder.embed_query("merger"), place.hidden_chunks
    ),
    "matching": lambda reader, _: reader.matching("open", parse("uri contains 'hidden'")),
    "allowed": lambda reader, place: reader.allowed(
        "open", place.hidden_chunks, parse("uri contains 'hidden'")
    ),
    "vectors": lambda reader, place: list(
        reader.vectors(place.embedder.space, place.hidden_chunks)
    ),
    "postings": lambda reader, _: dict(reader.postings("open", ["merger"]).terms),
    "hits": lambda reader, place: reader.hits(place.hidden_chunks),
    "around": lambda reader, place: list(reader.around(place.hidden_chunks, 1)),
    "excerpts": lambda reader, place: reader.excerpts([(place.hidden[0], Span(0, 20))]),
    "fields": lambda reader, _: (reader.fields("closed"), "closed"),
    "analyser": lambda reader, _: (reader.analyser("closed"), "closed"),
    "sample": lambda reader, place: reader.sample(
        "open", place.embedder.space, 200, parse("uri contains 'hidden'")
    ).tolist(),
    "lexical_index": lambda reader, _: (reader.lexical_index("closed"), "closed"),
    "ranked": "for an extension's index: by `similarities`' own restriction",
    "ranks": "for an extension's index: by `similarities`' own restriction",
    "trial": "for `ragkit recall`, by `nearest`'s own restriction",
    "beginning_or_ending": "terms alone, whose postings are then asked for",
    "moment": "a snapshot's name",
}
BROWSER: Final[dict[str, Callable[[Browser, Place], object] | str]] = {
    "collections": lambda browser, _: browser.collections(limit=9),
    "collection": lambda browser, _: browser.collection("closed"),
    "documents": lambda browser, _: browser.documents("open", limit=99),
    "find": lambda browser, _: browser.find("open", "hidden", limit=99),
    "document": lambda browser, place: browser.document(place.hidden[0]),
    "excerpt": lambda browser, place: browser.excerpt(place.hidden[0], 0, 99),
}


def public(kind: type) -> set[str]:
    return {name for name, _ in inspect.getmembers(kind) if not name.startswith("_")}


def test_every_path_is_looked_at() -> None:
    """A new method needs a line above: how it keeps what is hidden, or why it need not."""
    assert public(PostgresStore) == STORE.keys()
    assert public(PostgresReader) == READER.keys()
    assert public(Browser) == BROWSER.keys()


def told(read: Callable[[], object], place: Place) -> bool:
    """Tell whether somebody learns of what is hidden."""
    try:
        found = read()
    except NotFoundError as error:
        return not str(error).startswith("There is no")
    said = repr(found)
    numbers = {str(number) for number in (*place.hidden_chunks, *place.hidden)}
    ids: set[str] = set()
    if isinstance(found, list | dict):
        ids = {str(one[0] if isinstance(one, tuple) else one) for one in found}
    return any(word in said for word in ("hidden", "closed", "merger")) or bool(ids & numbers)


@pytest.mark.parametrize("name", [name for name, read in STORE.items() if callable(read)])
def test_a_store_shows_what_its_readers_may_read(place: Place, name: str) -> None:
    read = STORE[name]
    assert callable(read)
    assert not told(lambda: read(place.store(ADA), place), place)
    assert told(lambda: read(place.store(HR), place), place)
    assert told(lambda: read(place.store(None), place), place)


@pytest.mark.parametrize("name", [name for name, read in READER.items() if callable(read)])
def test_a_reader_shows_what_its_readers_may_read(place: Place, name: str) -> None:
    read = READER[name]
    assert callable(read)
    ask = reading(read)
    if name == "sample":
        assert ask(place.store(ADA), place) == []
        assert len(ask(place.store(HR), place)) == 80  # type: ignore[arg-type]
        return
    assert not told(lambda: ask(place.store(ADA), place), place)
    assert told(lambda: ask(place.store(HR), place), place)
    assert told(lambda: ask(place.store(None), place), place)


@pytest.mark.parametrize("name", BROWSER)
def test_listings_show_what_somebody_may_read(place: Place, name: str) -> None:
    read = BROWSER[name]
    assert callable(read)
    pool = place.database.pool
    assert not told(lambda: read(Browser(pool, "default", ADA), place), place)
    assert told(lambda: read(Browser(pool, "default", HR), place), place)


def test_what_is_counted_is_what_may_be_read(place: Place) -> None:
    def counted(readers: tuple[str, ...] | None) -> list[tuple[str, int, int]]:
        store = place.store(readers).collections()
        listed = Browser(place.database.pool, "default", readers).collections(limit=9)
        found = [(one.name, one.documents, one.chunks) for one in store]
        assert found == [(one.name, one.documents, one.chunks) for one in listed]
        return found

    assert counted(ADA) == [("open", 5, 5)]
    assert counted(HR) == counted(None) == [("closed", 1, 1), ("open", 45, 85)]
    found = Browser(place.database.pool, "default", ADA).find("open", limit=2)
    assert (len(found.documents), found.matched, found.all) == (2, 5, 5)


@pytest.mark.parametrize("mode", ["hybrid", "dense", "lexical"])
def test_what_is_hidden_takes_nobodys_place(place: Place, mode: Any) -> None:
    """All forty hidden documents fit better; those that may be read come all the same."""
    found = place.knowledge(ADA).search("wombat", k=5, mode=mode)
    assert {hit.uri for hit in found} == {new.uri for new in SHOWN}
    best = place.knowledge(HR).search("wombat", k=5, mode=mode)
    assert any(hit.uri.startswith("hidden") for hit in best)


def test_scores_tell_nothing_of_what_is_hidden(place: Place) -> None:
    """BM25 counts as if the hidden documents had never been."""
    alone = place.database.store("alone")
    fill(alone, place.embedder, SHOWN, "open")
    kb = KnowledgeBase(alone, place.embedder, FakeGenerator(), collection="open")
    expected = {hit.uri: hit.score for hit in kb.search("wombat digs", mode="lexical")}
    found = place.knowledge(ADA).search("wombat digs", mode="lexical")
    assert len(expected) == 5
    assert {hit.uri: hit.score for hit in found} == pytest.approx(expected)


def test_a_closed_collection_is_no_collection(place: Place) -> None:
    absent = error(lambda: place.knowledge(ADA, "nowhere").search("wombat"))
    closed = error(lambda: place.knowledge(ADA, "closed").search("wombat"))
    assert closed == absent.replace("nowhere", "closed")
    assert error(lambda: place.store(ADA).text(place.hidden[0])) == error(
        lambda: place.store(ADA).text(999)
    ).replace("999", str(place.hidden[0]))


def test_an_unknown_field_tells_no_hidden_key(place: Place) -> None:
    from dataclasses import replace

    secret = replace(new_document("hidden.md", "x y"), metadata={"merger_target": "acme"})
    (document,) = fill(place.database.store("keys"), place.embedder, [secret], "open")
    fill(place.database.store("keys"), place.embedder, SHOWN[:1], "open")
    Shares(place.database.pool, "keys").document(document.id, to_readers(["group:hr"]))

    def asked(readers: tuple[str, ...] | None, where: str) -> str:
        with place.database.store("keys", readers=readers).snapshot() as reader:
            try:
                return str(len(reader.matching("open", parse(where))))
            except QueryError as said:
                return str(said)

    assert asked(HR, "merger_target = 'acme'") == asked(None, "merger_target = 'acme'") == "1"
    assert "use merger_target" in asked(HR, "merger_targte = 'acme'")
    refused = asked(ADA, "merger_target = 'acme'")
    assert refused == asked(ADA, "nowhere_target = 'acme'").replace("nowhere", "merger")
    assert "no document of the collection has the field" in refused


def test_nobody_deletes_what_he_may_not_read(place: Place) -> None:
    with pytest.raises(NotFoundError, match="There is no document"):
        place.store(ADA).delete_document("open", place.hidden[0])
    with pytest.raises(NotFoundError, match="There is no collection"):
        place.store(ADA).delete_collection("closed")
    assert place.store(None).document(place.hidden[0]).uri == "hidden0.md"


def test_a_name_that_is_taken_cannot_be_used(place: Place) -> None:
    with pytest.raises(UsageError, match="choose another name"):
        place.store(ADA).create_collection("closed")
    assert place.store(HR).create_collection("closed").documents == 1


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
    assert shares.collection("c", to_readers(["user:ada", "group:hr"])).readers == (
        *("group:hr", "user:ada"),
    )
    assert shares.collection("c", Change(remove=("user:ada",))).readers == ("group:hr",)
    # The last one taken out does not open it to everybody.
    assert shares.collection("c", Change(remove=("group:hr",))) == Sharing(None, ())
    with pytest.raises(NotFoundError):
        Shares(place.database.pool, "steps", ADA).collection("c")
    shares.collection("c", Change(owner="user:ada"))
    assert Shares(place.database.pool, "steps", ADA).collection("c").owner == "user:ada"
    assert shares.collection("c", to_readers([], everybody=True)) == Sharing("user:ada", None)
    assert shares.collection("c", Change(owner="")) == Sharing(None, None)
    for nobody in ("ada", "user:", "team:x", "user:\n", "user:" + "x" * 300, "user: "):
        with pytest.raises(UsageError, match="no principal"):
            shares.collection("c", to_readers([nobody]))
    with pytest.raises(UsageError, match="nobody can be taken out"):
        shares.collection("c", Change(remove=("user:ada",)))
    with pytest.raises(UsageError, match="name who"):
        to_readers([])


def test_uploads_are_those_of_whoever_may_know_of_them(place: Place) -> None:
    """A file of a name that is taken by what she may not read is kept beside it, untold."""
    pool, store = place.database.pool, place.database.store("files")
    store.create_collection("c")

    def upload(who: str, readers: tuple[str, ...], text: str) -> int:
        sources = Sources(pool, "files", readers)
        (job,) = sources.keep("c", [Upload("plan.txt", io.BytesIO(text.encode()))], principal=who)
        with pool.connection() as conn:
            worker = UploadWorker(conn)
            taken = worker.claim()
            assert taken is not None
            assert taken.id == job
            document = new_document(taken.uri, text)
            vectors = place.embedder.embed_passages([text])
            made = store.put_document(
                "c", document, place.embedder.space, vectors, job=job, source=taken.source
            )
            worker.close()
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
    assert shown(hers.kb.store, [], place.hidden_chunks) == {}
    caller = Caller("default", "ada", groups=("hr",))
    theirs = library.conversation(caller, collection="open")
    assert set(shown(theirs.kb.store, [], place.hidden_chunks)) == set(place.hidden_chunks)


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


def error(ask: Callable[[], object]) -> str:
    with pytest.raises(NotFoundError) as caught:
        ask()
    return str(caught.value)


def test_what_there_was_before_is_for_everybody(fresh_database: str, tmp_path: Path) -> None:
    """A database from before there were readers: nothing is hidden, and its keys are known."""
    import psycopg

    steps = files("ragkit.store") / "migrations"
    for step in steps.iterdir():
        if step.name < "0009":
            (tmp_path / step.name).write_text(step.read_text())
    with psycopg.connect(fresh_database, autocommit=True) as conn:
        migrate(conn, tmp_path)
        conn.execute("INSERT INTO collection (tenant, name) VALUES ('default', 'c')")
        conn.execute(
            "INSERT INTO document (tenant, collection_id, uri, uri_key, content_hash, fingerprint,"
            " title, language, media_type, metadata, page_starts, page_numbers, chars, text,"
            " updated_at) SELECT tenant, id, 'u', 'k', '', '', '', '', '', '{\"year\": \"2020\"}',"
            " '{}', '{}', 1, 'x', '2020-05-01T00:00:00Z' FROM collection"
        )
    with open_database(Settings(database_url=SecretStr(fresh_database))) as database:
        (document,) = database.store("default", readers=ADA).documents("c")
        assert Shares(database.pool, "default").document(document.id) == Sharing()
        with database.store("default", readers=ADA).snapshot() as reader:
            assert reader.matching("c", parse("year = 2020 and created_at < 2020-06-01")) == []
            with pytest.raises(QueryError, match="use year"):
                reader.matching("c", parse("yeer = 2020"))
