"""Private data planted at every place of many formats: after an ingestion none of it is anywhere.

The whole database is looked through, every table as text and as bytes, and so are the log, what the
command printed, its reports and the page of its run.
"""

from __future__ import annotations

import io
import json
import logging
from collections.abc import Iterator
from email.message import EmailMessage
from itertools import count
from pathlib import Path

import pytest
from psycopg import sql
from pydantic import SecretStr
from typer.testing import CliRunner

from ragkit.cli.job_page import page
from ragkit.cli.job_report import of_run
from ragkit.cli.main import app
from ragkit.settings.settings import Settings
from ragkit.store.open import Database, open_database

pytestmark = pytest.mark.usefixtures("shared_model")

MARK = "zq7secret"  # stands nowhere else
PHONE = 13987654321  # a number, as JSON has it
TABLES = """
    SELECT schemaname, tablename FROM pg_tables
    WHERE schemaname NOT IN ('pg_catalog', 'information_schema') ORDER BY 1, 2
"""
OPTIONS = {
    "MASK": "all",
    "CHUNK_HEADER": "on",
    "COMMENTS": "keep",
    "REVISIONS": "both",
    "NEAR_DUPLICATES": "flag",
    "BOILERPLATE": "drop",
    "KEEP_VERSIONS": "2",
}


@pytest.fixture
def database(
    fresh_database: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Database]:
    monkeypatch.setenv("RAGKIT_DATABASE_URL", fresh_database)
    for name, value in OPTIONS.items():
        monkeypatch.setenv(f"RAGKIT_{name}", value)
    settings = Settings(database_url=SecretStr(fresh_database), home=tmp_path / "home")
    with open_database(settings) as opened:
        yield opened


_numbers = count(1)


def who() -> str:
    """An address that is nowhere else."""
    return f"{MARK}{next(_numbers)}.x@example.com"


def markdown() -> bytes:
    return (
        f"---\ntitle: Of {who()}\nauthor: {who()}\n{who()}: a key\n---\n"
        f"# Ask {who()}\n\n![a picture of {who()}](logo.png) <!-- {who()} -->\n\n"
        f"## Or <{who()}>\n\n| name | mail |\n|---|---|\n| Ann | {who()} |\n\n"
        f"- [write](mailto:{who()})\n- {who().replace('.x', chr(92) + '_x')}\n\n"
        f"    git config user.email {who()}\n\nTel. 139-8765-4321, `{who()}`[^1]\n\n[^1]: {who()}\n"
    ).encode()


def html() -> bytes:
    return (
        f"<html><head><title>{who()}</title><meta name=author content='{who()}'>"
        f"<meta name=description content='{who()}'></head><body><nav>{who()}</nav><article>"
        f"<h1>{who()}</h1><p>A long enough paragraph, with <a href='mailto:{who()}'>a link</a> and"
        f" <img src=x alt='{who()}'>, about leave.</p><p hidden>{who()}</p><!-- {who()} -->"
        f"<table><caption>{who()}</caption><tr><th>{who()}</th></tr><tr><td>{who()}</td></tr>"
        f"</table></article></body></html>"
    ).encode()


def mail() -> bytes:
    message = EmailMessage()
    message["From"] = f"Ann <{who()}>"
    message["To"] = f"{who()}, {who()}"
    message["Cc"] = who()
    message["Subject"] = f"About {who()}"
    message.set_content(f"Dear Ann,\n\n> {who()} wrote:\n> yes\n\n-- \n{who()}\n")
    attached = f"Attached by {who()}\n".encode()
    message.add_attachment(attached, maintype="text", subtype="plain", filename="note.txt")
    return message.as_bytes()


def docx() -> bytes:
    import docx as office

    document = office.Document()
    document.core_properties.author = who()
    document.core_properties.title = who()
    document.add_heading(who(), 1)
    run = document.add_paragraph("A paragraph about leave.").add_run(f" Ask {who()}.")
    document.add_comment(run, f"No, ask {who()}", author=who())
    document.add_table(1, 2).cell(0, 1).text = who()
    document.sections[0].header.paragraphs[0].text = who()
    buffer = io.BytesIO()
    document.save(buffer)
    return buffer.getvalue()


def pptx() -> bytes:
    from pptx import Presentation

    deck = Presentation()
    slide = deck.slides.add_slide(deck.slide_layouts[1])
    slide.shapes.title.text = f"Slide of {who()}"
    slide.placeholders[1].text = who()
    slide.notes_slide.notes_text_frame.text = who()
    buffer = io.BytesIO()
    deck.save(buffer)
    return buffer.getvalue()


def xlsx() -> bytes:
    from openpyxl import Workbook
    from openpyxl.comments import Comment

    book = Workbook()
    book.properties.creator = who()
    sheet = book.active
    assert sheet is not None
    sheet.title = f"{MARK}0@example.com"
    sheet.append(["name", who()])
    sheet.append(["Ann", PHONE])
    sheet["A1"].comment = Comment(who(), who())
    buffer = io.BytesIO()
    book.save(buffer)
    return buffer.getvalue()


def notebook() -> bytes:
    source = [{"cell_type": "markdown", "metadata": {}, "source": f"# {who()}"}]
    output = {"output_type": "stream", "name": "stdout", "text": who()}
    code = {"cell_type": "code", "metadata": {}, "source": f"x = '{who()}'", "outputs": [output]}
    cells = [*source, {**code, "execution_count": 1}]
    return json.dumps({"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": cells}).encode()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "documents"
    made.mkdir()
    files = {"a.md": markdown, "b.html": html, "c.eml": mail, "d.docx": docx, "e.pptx": pptx}
    files |= {"f.xlsx": xlsx, "g.ipynb": notebook}
    for name, make in files.items():
        (made / name).write_bytes(make())
    said = {"title": who(), "owner": who(), "mobile": PHONE, "landline phone": 5550123, "n": 7}
    (made / "a.md.meta.json").write_text(json.dumps(said))
    (made / "h.txt").write_text("Its sidecar is refused.")
    (made / "h.txt.meta.json").write_text(json.dumps({who(): {"nested": 1}}))
    (made / "i.vtt").write_text(f"WEBVTT\n\n00:01.000 --> 00:02.000\n<v {who()}>It is {who()}.\n")
    (made / "j.csv").write_text(f"name,mail\nAnn,{who()}\n")
    return made


def everything(database: Database) -> dict[str, str]:
    """Every table of the database as text; what is kept as bytes stands there in hexadecimal."""
    with database.pool.connection() as conn:
        tables = conn.execute(TABLES).fetchall()
        found = {}
        for schema, table in tables:
            query = sql.SQL("SELECT t::text FROM {} t").format(sql.Identifier(schema, table))
            found[table] = "\n".join(row[0] for row in conn.execute(query))
        return found


def assert_none(kept: dict[str, str]) -> None:
    marks = (MARK, MARK.encode().hex(), str(PHONE), "139-8765", "5550123")
    leaks = [
        (place, text[max(0, at - 60) : at + 60])
        for place, text in kept.items()
        for mark in marks
        if (at := text.find(mark)) >= 0
    ]
    assert not leaks


def test_nothing_that_was_planted_is_kept_or_told(
    database: Database, folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    arguments = ["ingest", str(folder), "--meta", f"contact={who()}", "--meta", f"{who()}=x"]
    told = []
    for more in ([], ["--force", "--json"]):
        done = CliRunner().invoke(app, [*arguments, *more])
        assert done.exit_code == 3, done.output
        told.append(done.output)
    ledger = database.store("default").job_ledger
    report = of_run(ledger, None)
    kept = everything(database)
    assert len(kept["document"].splitlines()) > 10, "documents, and their old versions"
    assert "[EMAIL]" in kept["document"]
    assert "[PHONE]" in kept["document"]
    assert_none(kept)
    assert_none({"output": "\n".join(told), "log": caplog.text})
    assert_none({"report": json.dumps(report.as_json()), "page": page(report)})
    (failed,) = [file for file in report.files if file.state == "failed"]
    assert (
        failed.reason
        == "its sidecar h.txt.meta.json: '[EMAIL]' is a table of its own: give it"
        + (" a text, number or list")
    )
    assert report.notes["masked email"] > 40
    of_markdown = next(file for file in report.files if file.uri.endswith("a.md"))
    assert of_markdown.notes["masked phone"] == 3, "two in its sidecar"


def test_records_and_why_they_fail(
    database: Database, folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    records = folder / "people.jsonl"
    same = who()
    rows = [
        {"id": 1, "text": f"Ask {who()}.", "title": who(), "mail": who(), "mobile": PHONE},
        {"id": 2, "text": "Two lists.", "mail": [who(), who()]},
        {"id": 3, "text": "A table.", "mail": {same: 1}},
    ]
    records.write_text("\n".join(map(json.dumps, rows)))
    fields = ["--text", "text", "--title-field", "title", "--id-field", "id"]
    fields += ["--metadata-field", "mail", "--metadata-field", "mobile"]
    done = CliRunner().invoke(app, ["ingest", str(records), *fields])
    assert done.exit_code == 3
    assert "Added: 2 documents" in done.output
    kept = everything(database)
    assert '"mail": "[EMAIL], [EMAIL]"' in kept["document"].replace('""', '"')
    assert_none(kept)
    assert_none({"output": done.output, "log": caplog.text})


def test_nothing_is_kept_or_told_of_what_is_queued_for_a_worker(
    database: Database,
    folder: Path,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from ragkit.settings.settings import load_settings
    from ragkit_ingest.worker.worker import work

    monkeypatch.setenv("RAGKIT_BOILERPLATE", "keep")
    caplog.set_level(logging.DEBUG)
    arguments = ["ingest", str(folder), "--meta", f"contact={who()}", "--meta", f"{who()}=x"]
    queued = CliRunner().invoke(app, [*arguments, "--queue"])
    assert queued.exit_code == 3, queued.output
    assert "Queued: 9 files" in queued.output
    kept = everything(database)
    assert "[EMAIL]" in kept["job_place"]
    assert_none(kept)
    done = work(load_settings(), until_empty=True)
    assert [(one.added, one.failed) for one in done.reports] == [(10, 0)]
    kept = everything(database)
    assert_none(kept)
    assert_none({"output": queued.output, "log": caplog.text})
    assert '"contact": "[EMAIL]"' in kept["document"].replace('""', '"')
    again = CliRunner().invoke(app, [*arguments, "--queue"])
    assert "Queued: 1 file\nUnchanged: 8 documents\n" in again.output, (
        "a mail is queued as it is, the rest known"
    )


def test_a_title_that_is_queued_is_masked(
    database: Database, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RAGKIT_BOILERPLATE", "keep")
    file = str(folder / "a.md")
    assert CliRunner().invoke(app, ["ingest", file, "--title", who(), "--queue"]).exit_code == 0
    kept = everything(database)
    assert '"title": "[EMAIL]"' in kept["job_place"].replace('""', '"')
    assert_none(kept)


def test_an_address_is_kept_because_the_file_is_found_by_it_and_that_is_counted(
    database: Database, tmp_path: Path
) -> None:
    file = tmp_path / "ann.lee@example.com.txt"
    file.write_text("Everyone has 25 days of leave.")
    done = CliRunner().invoke(app, ["ingest", str(file)])
    assert done.exit_code == 0, done.output
    assert "Not masked: private data in file names (1)" in done.output
    (document,) = database.store("default").documents("default")
    assert (document.uri, document.title) == (str(file), "[EMAIL]")
