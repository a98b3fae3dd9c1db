"""Every promise about taking documents in, by every way that a document may come.

The table in docs/guarantees.md has a row for each test here and a column for each way. A test is
named after its row and lists the ways that keep the promise; the last test compares both.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import pytest
from pydantic import SecretStr

from ragkit.contracts import Embedder
from ragkit.embed.local import LocalEmbedder
from ragkit.knowledge.embedders import Embedders
from ragkit.settings.settings import Settings
from ragkit.store.jobs.originals import Originals
from ragkit.store.open import open_database
from ragkit_ingest.parser.pool import ParserPool
from ragkit_ingest.run.run import limits
from tests.databases import Databases
from tests.ingest.pdfs import column, pdf
from tests.ingest.ways import (
    ENGINE,
    SIDECAR,
    WAYS,
    Adding,
    Ingest,
    LangChain,
    LentPool,
    Outcome,
    Passages,
    Queue,
    Ray,
    Site,
    Uploading,
    Way,
    in_thread,
    use_operators_here,
)
from tests.ingest.worker.test_upload_members import archive, mail
from tests.places import ROOT

LEAVE: Final = b"# Leave\n\nEveryone has 25 days of leave.\n"
MORE_LEAVE: Final = b"# Leave\n\nEveryone has 30 days of leave. Ask early.\n"
TRAVEL: Final = b"# Travel\n\nTrains are first class.\n"
PAY: Final = b"# Pay\n\nOn the first of the month.\n"
CLAUSES: Final = " ".join(f"Clause {n} binds both parties for {n * 7} days." for n in range(20))
HAS_VECTOR: Final = "v.chunk_id IS NOT NULL"


def kept_by(*ways: type[Way]) -> pytest.MarkDecorator:
    """List the ways that keep the promise of a test."""
    return pytest.mark.parametrize("way", ways, indirect=True, ids=lambda way: way.__name__)


@pytest.fixture(scope="module")
def site(
    databases: Databases, loaded_embedder: Embedder, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Site]:
    with databases.take() as url:
        settings = Settings(
            database_url=SecretStr(url),
            home=tmp_path_factory.mktemp("home"),
            jobs=1,
            parse_unzipped_mb=1,
        )
        embedders = Embedders(settings)
        embedders.default = loaded_embedder
        with open_database(settings) as database:
            yield Site(database, embedders)


@pytest.fixture(scope="module")
def parsers(site: Site) -> Iterator[ParserPool]:
    with ParserPool(3, limits(site.embedders.settings)) as pool:
        yield pool


@pytest.fixture
def lent_parsers(parsers: ParserPool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Have all runs use the same processes: to start them takes most of the time of a small one."""
    for module in ("executor.pipeline", "parser.pool"):
        monkeypatch.setattr(f"ragkit_ingest.{module}.ParserPool", lambda *_: LentPool(parsers))


@pytest.fixture
def passages(monkeypatch: pytest.MonkeyPatch) -> Passages:
    counted, embed_ids = Passages(), LocalEmbedder.embed_ids

    def embed(embedder: LocalEmbedder, rows: Sequence[Any]) -> Any:
        counted.note(rows)
        return embed_ids(embedder, rows)

    monkeypatch.setattr(LocalEmbedder, "embed_ids", embed)
    return counted


@pytest.fixture
def way(
    request: pytest.FixtureRequest,
    site: Site,
    passages: Passages,
    shared_model: None,
    lent_parsers: None,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> Way:
    """Make a way into a collection of the test's own."""
    if request.param is Ray:
        use_operators_here(monkeypatch)
    folder = tmp_path / "documents"
    folder.mkdir()
    kind: type[Way] = request.param
    return kind(site, passages, folder, request.node.name)


# What readers see


@kept_by(*WAYS)
def test_a_new_version_replaces_the_old_one_whole(way: Way) -> None:
    way.take({"leave.md": LEAVE, "travel.md": TRAVEL})
    number = way.documents["leave.md"].id
    assert way.take({"leave.md": MORE_LEAVE}).failures == {}
    assert way.texts == {"leave.md": MORE_LEAVE.decode(), "travel.md": TRAVEL.decode()}
    assert way.documents["leave.md"].id == number
    assert way.documents["leave.md"].version == 2
    assert way.rows(HAS_VECTOR) == [(True,), (True,)]
    assert way.knowledge_base().search("25", mode="lexical") == []


@kept_by(*WAYS)
def test_a_failing_file_leaves_the_old_version(way: Way) -> None:
    way.take({"leave.md": LEAVE})
    assert way.take({"leave.md": b""}).failures.keys() == {"leave.md"}
    assert way.texts == {"leave.md": LEAVE.decode()}
    assert way.documents["leave.md"].version == 1


@kept_by(*WAYS)
def test_a_citation_points_at_the_stored_text(way: Way) -> None:
    way.take(
        {"handbook.md": "# 手册\n\n第一条：准时。Be on time! 🕘 é́\r\n\r\nＡ second one.".encode()}
    )
    cut = "substr(d.text, c.start_char + 1, c.end_char - c.start_char)"
    passages = way.rows(f"c.start_char, c.end_char, d.text, {cut}")
    assert passages
    for start, end, text, passage in passages:
        assert text[start:end] == passage


@kept_by(*ENGINE)
def test_the_original_page_is_the_page_that_was_read(way: Way) -> None:
    file = pdf([column(72, 700, ["Everybody has 28 days of leave a year."])])
    way.take({"leave.pdf": file})
    originals = Originals(way.site.database.pool, way.tenant)
    assert originals.read(originals.find(way.documents["leave.pdf"].id)) == file


@kept_by(*WAYS)
def test_it_can_be_found_at_once(way: Way) -> None:
    kb = way.knowledge_base()
    way.take({"leave.md": LEAVE})
    assert [way.name(hit.uri) for hit in kb.search("days of leave")] == ["leave.md"]
    way.take({"travel.md": TRAVEL})
    assert way.name(kb.search("first class trains", k=1)[0].uri) == "travel.md"
    assert [way.name(hit.uri) for hit in kb.search("trains", mode="lexical")] == ["travel.md"]


# What is done once


@kept_by(*WAYS)
def test_what_has_not_changed_costs_one_hash(way: Way) -> None:
    files = {"leave.md": LEAVE, "travel.md": TRAVEL}
    assert way.take(files) == Outcome(2, {})
    stored = way.rows("d.id, d.version, c.id, c.xmin::text")
    assert way.take(files) == Outcome(0, {})
    assert way.rows("d.id, d.version, c.id, c.xmin::text") == stored


@kept_by(*ENGINE)
def test_each_file_is_embedded_once_however_many_work_at_it(way: Way) -> None:
    files = {f"{n}.md": f"# Wing {n}\n\nIt carries {n * 17} kg.\n".encode() for n in range(6)}
    joins: list[Callable[[], None]] = []

    def begin_another() -> None:
        joins.append(in_thread(lambda: way.repeat({})))

    way.passages.interrupt = begin_another
    way.take(files)
    for join in joins:
        join()
    assert len(joins) == 1
    assert way.passages.count == len(files)
    assert {document.version for document in way.documents.values()} == {1}
    assert way.documents.keys() == files.keys()


@kept_by(Ingest, Queue, Ray, Adding)
def test_the_same_bytes_are_stored_once(way: Way) -> None:
    assert way.take({"leave.md": LEAVE}) == Outcome(1, {})
    assert way.take({"copy.md": LEAVE, "twin.md": LEAVE}) == Outcome(0, {})
    assert way.documents.keys() == {"leave.md"}
    (copies,) = way.store.copies(way.collection).values()
    assert sorted(way.name(file.uri) for file in copies) == ["copy.md", "twin.md"]


@kept_by(Ingest, Queue, Uploading, Adding)
def test_near_duplicates_are_flagged(way: Way) -> None:
    way.set_options(near_duplicates="flag")
    way.take({"contract.txt": CLAUSES.encode()})
    way.take({"later.txt": f"{CLAUSES} Amen.".encode(), "leave.md": LEAVE})
    assert way.name(way.metadata("later.txt")["near_duplicate_of"]) == "contract.txt"
    assert "near_duplicate_of" not in way.metadata("leave.md")


@kept_by(Ingest, Queue, Uploading, Adding)
def test_near_duplicates_are_left_out(way: Way) -> None:
    way.set_options(near_duplicates="drop")
    way.take({"contract.txt": CLAUSES.encode()})
    outcome = way.take({"later.txt": f"{CLAUSES} Amen.".encode(), "leave.md": LEAVE})
    assert outcome == Outcome(1, {})
    assert way.documents.keys() == {"contract.txt", "leave.md"}


# What survives


class BrokenOffError(BaseException):
    """The program is told to end."""


@kept_by(*WAYS)
def test_a_run_that_is_broken_off_leaves_nothing_half(way: Way) -> None:
    way.take({"leave.md": LEAVE, "travel.md": TRAVEL})

    def break_off() -> None:
        raise BrokenOffError

    way.passages.interrupt = break_off
    newer = {"leave.md": MORE_LEAVE, "pay.md": PAY}
    with pytest.raises(BrokenOffError):
        way.take(newer)
    texts = {"leave.md": LEAVE.decode(), "travel.md": TRAVEL.decode()}
    assert way.texts == texts
    assert way.rows(HAS_VECTOR) == [(True,), (True,)]
    way.repeat(newer)
    assert way.failures == []
    assert way.texts == texts | {name: data.decode() for name, data in newer.items()}
    assert way.documents["leave.md"].version == 2


@kept_by(*ENGINE)
def test_one_bad_file_does_not_stop_the_others(way: Way) -> None:
    bad = {
        "broken.pdf": b"%PDF-1.7\nnothing of a PDF",
        "empty.txt": b"",
        "bomb.zip": archive(zeros__md=b"0" * (3 << 20)),
        "binary.md": bytes(range(256)) * 9,
    }
    outcome = way.take({"leave.md": LEAVE, **bad, "travel.md": TRAVEL})
    assert way.documents.keys() == {"leave.md", "travel.md"}
    stages = {name: failure.stage for name, failure in outcome.failures.items()}
    assert stages == dict.fromkeys(bad, "parse")
    reasons = [failure.reason for failure in outcome.failures.values()]
    assert all(len(reason.splitlines()) == 1 for reason in reasons)


# What does not come back


@kept_by(*ENGINE)
def test_an_older_job_never_overwrites_a_newer_one(way: Way) -> None:
    way.passages.interrupt = lambda: way.send({"leave.md": MORE_LEAVE})
    way.take({"leave.md": LEAVE})
    assert way.passages.interruptions == 1
    assert way.texts == {"leave.md": MORE_LEAVE.decode()}


@kept_by(*WAYS)
def test_deleting_leaves_nothing_of_a_document(way: Way) -> None:
    way.take({"leave.md": LEAVE, "travel.md": TRAVEL})
    number = way.documents["leave.md"].id
    way.delete("leave.md")
    assert way.documents.keys() == {"travel.md"}
    orphans = """
        SELECT (SELECT count(*) FROM chunk WHERE document_id = %s),
            (SELECT count(*) FROM vectors_1 v WHERE NOT EXISTS (
                SELECT FROM chunk c WHERE c.id = v.chunk_id)),
            (SELECT count(*) FROM source s WHERE NOT EXISTS (
                SELECT FROM document d WHERE d.source_id = s.id))
    """
    with way.site.database.pool.connection() as conn:
        assert conn.execute(orphans, (number,)).fetchone() == (0, 0, 0)
    kb = way.knowledge_base()
    assert [way.name(hit.uri) for hit in kb.search("leave")] == ["travel.md"]
    assert kb.search("everyone", mode="lexical") == []


@kept_by(*ENGINE)
def test_what_is_deleted_while_it_is_embedded_stays_deleted(way: Way) -> None:
    way.take({"leave.md": LEAVE, "travel.md": TRAVEL})
    way.passages.interrupt = lambda: way.delete("leave.md")
    assert way.take({"leave.md": MORE_LEAVE}).failures == {}
    assert way.passages.interruptions == 1
    assert way.documents.keys() == {"travel.md"}


@kept_by(Ingest, Queue, Ray, Adding)
def test_sync_deletes_what_has_vanished(way: Ingest) -> None:
    way.take({"leave.md": LEAVE, "travel.md": TRAVEL})
    (way.folder / "leave.md").unlink()
    way.take({})
    assert way.documents.keys() == {"leave.md", "travel.md"}
    way.sync = True
    way.take({})
    assert way.documents.keys() == {"travel.md"}


# What a file becomes


@kept_by(*ENGINE)
def test_the_document_is_the_same_by_every_way(way: Way, tmp_path: Path) -> None:
    files = {
        "handbook.md": b"# Handbook\n\n## Leave\n\n25 days.\n\n## Pay\n\n" + b"Monthly. " * 40,
        "offer.eml": mail(terms__txt="三十天内付款。".encode()),
    }
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    plain = Ingest(way.site, way.passages, folder, f"{way.collection} by ingest")
    for each_way in (way, plain):
        each_way.set_options(chunk_tokens=32)
    columns = (
        "d.title, d.language, d.media_type, d.text, d.content_hash, d.fingerprint, d.metadata,"
        " d.bytes, c.ordinal, c.start_char, c.end_char, c.tokens, c.terms, c.headings"
    )
    assert way.take(files) == plain.take(files)
    assert way.documents.keys() == plain.documents.keys()
    assert len(way.rows(columns)) > 4
    assert way.rows(columns) == plain.rows(columns)


@kept_by(*WAYS)
def test_private_data_is_masked_before_it_is_embedded(way: Way) -> None:
    way.set_options(mask="email")
    way.take({"ask.md": b"# Ask ann@example.com\n\nOr write to bob@example.com.\n"})
    assert way.texts == {"ask.md": "# Ask [EMAIL]\n\nOr write to [EMAIL].\n"}
    has_title = not isinstance(way, LangChain)  # a text alone has none
    assert way.documents["ask.md"].title == ("Ask [EMAIL]" if has_title else "")


@kept_by(Ingest, Ray, Adding)
def test_lines_that_repeat_are_removed(way: Way) -> None:
    way.set_options(boilerplate="drop")
    notice = "Confidential: property of Example Aviation Limited."
    files = {
        f"{subject}.txt": f"{notice}\n\nThis says what {subject} and their crews need in winter.\n"
        for subject in ("gliders", "engines", "propellers", "landing gears")
    }
    way.take({name: text.encode() for name, text in files.items()})
    assert way.texts == {name: text.split("\n\n")[1] for name, text in files.items()}


@kept_by(*ENGINE)
def test_mails_and_archives_are_unpacked(way: Way) -> None:
    papers = archive(**{"old/lease__md": b"900 euros.", "travel__md": TRAVEL})
    outcome = way.take({"offer.eml": mail(terms__md=b"Within 30 days."), "papers.zip": papers})
    assert outcome.failures == {}
    texts = way.texts
    assert "Two pumps cost 1,840 euros." in texts.pop("offer.eml")
    assert texts == {
        "offer.eml!/terms.md": "Within 30 days.",
        "papers.zip!/old/lease.md": "900 euros.",
        "papers.zip!/travel.md": TRAVEL.decode(),
    }


@kept_by(Ingest, Queue, Ray, Adding, LangChain)
def test_what_is_said_of_a_file_is_stored_with_it(way: Way) -> None:
    way.take({"leave.md": LEAVE, f"leave.md{SIDECAR}": b'{"year": 2024, "team": "blue"}'})
    assert way.documents.keys() == {"leave.md"}
    values = {key: way.metadata("leave.md")[key] for key in ("year", "team")}
    assert values["team"] == "blue"
    assert str(values["year"]) == "2024"


@kept_by(*WAYS)
def test_tenants_share_nothing(way: Way) -> None:
    other = way.of_tenant("other")
    assert way.take({"leave.md": LEAVE}) == Outcome(1, {})
    assert other.take({"leave.md": LEAVE, "pay.md": PAY}) == Outcome(2, {})
    other.delete("leave.md")
    assert other.documents.keys() == {"pay.md"}
    assert way.texts == {"leave.md": LEAVE.decode()}
    for each_way, name in ((way, "leave.md"), (other, "pay.md")):
        hits = each_way.knowledge_base().search("pay on the first of the month")
        assert {each_way.name(hit.uri) for hit in hits} == {name}


# What the page says


def test_the_page_says_yes_where_a_test_does() -> None:
    page = (ROOT / "docs" / "guarantees.md").read_text("utf-8")
    section = page.partition("## By every way in\n")[2].partition("\n## ")[0]
    lines = [line.strip("|").split("|") for line in section.splitlines() if line.startswith("|")]
    head, _, *rows = [[cell.strip() for cell in line] for line in lines]
    assert head[1:] == [way.column for way in WAYS]
    cells = {
        ("_".join(["test", *re.findall(r"\w+", promise.lower())]), column): cell
        for promise, *row in rows
        for column, cell in zip(head[1:], row, strict=True)
    }
    tests = {
        (name, way.column)
        for name, function in globals().items()
        for mark in getattr(function, "pytestmark", ())
        if mark.name == "parametrize" and mark.args[0] == "way"
        for way in mark.args[1]
    }
    assert {cell for cell, words in cells.items() if words == "yes"} == tests
    reasons = {words for words in cells.values() if words != "yes"}
    assert [words for words in reasons if not re.fullmatch(r"(no|–) \(\d+\)", words)] == []
    notes = re.findall(r"^(\d+)\. ", section, re.M)
    assert {words.split("(")[1].strip(")") for words in reasons} == set(notes)
