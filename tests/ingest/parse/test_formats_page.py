"""docs/formats.md tells the truth: a small file of each row has what is kept, and lacks the rest.

A word with "kept" in it must stand in the text; one with "secret" must not. What the page names in
quotation marks is counted in the notes of its row's files.
"""

from __future__ import annotations

import io
import json
import re
import tarfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final

import docx
import openpyxl
import pptx
import pytest
from docx.oxml import OxmlElement
from openpyxl.comments import Comment

from ragkit.errors import IngestError
from ragkit.types import ParsedText
from ragkit_ingest.parse import ParseOptions, members_of, ocr, parse_bytes
from ragkit_ingest.parse.formats import CONTAINERS, MODULES
from ragkit_ingest.sources.suffixless import suffix_by_content
from tests.ingest.parse.office.oldworkbooks import compound, workbook
from tests.ingest.parse.office.test_odt import SPACES
from tests.ingest.parse.office.test_odt import document as odf
from tests.ingest.parse.office.test_office_options import RELATIONS, saved, with_parts
from tests.ingest.parse.test_epub import book
from tests.ingest.pdfs import pdf
from tests.ingest.pdfs import text as pdf_text
from tests.ingest.poison import zipped
from tests.places import ROOT

PAGE: Final = (ROOT / "docs" / "formats.md").read_text("utf-8")
TABLE: Final = PAGE.partition("\n|---")[2].partition("\n\n")[0].splitlines()[1:]
ROWS: Final = [[cell.strip() for cell in row.strip("|").split("|")] for row in TABLE]
SUFFIX: Final = re.compile(r"\.[a-z0-9]+(?:\.[a-z0-9]+)?")
COUNTED: Final = re.compile(r'"([a-z][a-z ]+)"')
# Counted by what these tests do not make: see test_layout, test_ocr, test_message, test_page.
ELSEWHERE: Final = {
    *("headers and footers", "pages without text", "pages read by OCR", "rich text"),
    *("boilerplate text", "hidden rows", "hidden columns"),
}


@dataclass(frozen=True)
class Case:
    """A file and what is expected of it; with `refusal` it is not read, for this reason."""

    data: bytes
    kept: tuple[str, ...] = ()
    notes: Mapping[str, int] = field(default_factory=dict)
    title: str = ""
    pages: tuple[str, ...] = ()
    refusal: str = ""


def word() -> bytes:
    document = docx.Document()
    document.add_heading("Heading kept", 1)
    document.add_paragraph("Item kept", style="List Bullet")
    document.add_table(1, 2).cell(0, 0).text = "Cell kept"
    document.sections[0].header.paragraphs[0].text = "secret"
    document.add_paragraph().add_run("secret").font.hidden = True
    paragraph = document.add_paragraph("Text kept")
    document.add_comment(paragraph.runs, "secret")
    deleted = OxmlElement("w:del")
    deleted.append(OxmlElement("w:r"))
    deleted[0].append(OxmlElement("w:delText"))
    deleted[0][0].text = "secret"
    paragraph._p.append(deleted)
    return saved(document)


def slides() -> bytes:
    show = pptx.Presentation()
    slide = show.slides.add_slide(show.slide_layouts[1])
    slide.shapes.title.text = "Title kept"
    slide.placeholders[1].text = "Body kept"
    slide.notes_slide.notes_text_frame.text = "Notes kept"
    relation = f'<Relationship Id="c" Type="{RELATIONS}/comments" Target="/ppt/comments/c.xml"/>'
    comment = '<cmLst><cm authorId="0"><text>secret</text></cm></cmLst>'
    parts = {"ppt/comments/c.xml": comment, "ppt/slides/_rels/slide1.xml.rels": relation}
    return with_parts(saved(show), parts)


def sheets() -> bytes:
    book_ = openpyxl.Workbook()
    sheet = book_.active
    sheet.title = "May kept"
    sheet["A1"], sheet["B1"], sheet["A2"], sheet["B2"] = "Merged kept", "Rate", 7, 0.25
    sheet["B2"].number_format = "0%"
    sheet["A1"].comment = Comment("secret", "Ann")
    sheet["C2"] = "=A2*B2"  # which is written without a value
    book_.create_sheet("secret").sheet_state = "hidden"
    return saved(book_)


def odf_text() -> bytes:
    return odf('<text:h text:outline-level="1">Heading kept</text:h><text:p>Text kept</text:p>')


def flat(kind: str, body: str) -> bytes:
    inner = f"<office:body><office:{kind}>{body}</office:{kind}></office:body>"
    return f"<office:document {SPACES}>{inner}</office:document>".encode()


def outlook() -> bytes:
    properties = bytes(32)
    texts = {"0037": "Subject kept", "0c1a": "Sender kept", "1000": "Body kept"}
    streams = {f"__substg1.0_{key}001F": text.encode("utf-16-le") for key, text in texts.items()}
    return compound({"__properties_version1.0": properties, **streams})


def tarred(packing: str) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode=f"w:{packing}") as archive:  # type: ignore[call-overload]
        for name in ("kept.txt", ".secret.txt", "a/__MACOSX/secret.txt"):
            archive.addfile(tarfile.TarInfo(name))
    return buffer.getvalue()


MAIL: Final = (
    b'From: kept@example.org\nSubject: Subject kept\nContent-Type: multipart/related; boundary="b"'
    b"\n\n--b\nContent-Type: text/html\n\n<p>Body kept</p>\n--b\nContent-Type: image/png\n"
    b"Content-ID: <x>\n\nsecret\n--b--\n"
)
ARCHIVE: Final = (
    b'Subject: Subject kept\nMIME-Version: 1.0\nContent-Type: multipart/related; boundary="b"\n\n'
    b"--b\nContent-Type: text/html\n\n<h1>Page kept</h1><p>Text of a page kept.</p>\n--b\n"
    b"Content-Type: text/css\n\nsecret\n--b--\n"
)
HTML: Final = (
    b"<html><head><title>Title kept</title><style>secret</style><script>secret</script></head>"
    b"<body><!-- secret --><main><h1>Heading kept</h1><p>A paragraph with text that is kept.</p>"
    b'<ul><li>Item kept</li></ul><p style="display:none">secret</p></main></body></html>'
)
NOTEBOOK: Final = json.dumps(
    {
        "cells": [
            {"cell_type": "markdown", "metadata": {}, "source": "# Heading kept"},
            {
                "cell_type": "code",
                "metadata": {},
                "source": "print('kept')",
                "outputs": [
                    {"output_type": "stream", "name": "stdout", "text": "Output kept\n" * 1000},
                    {"output_type": "display_data", "data": {"image/png": "secret"}},
                ],
            },
        ]
    }
).encode()
PNG: Final = b"\x89PNG\r\n\x1a\n" + bytes(20)
NO_OCR: Final = "OCR is switched off"

CASES: Final[Mapping[str, Case]] = {
    ".txt": Case("文字 kept\n".encode("gb18030"), ("文字 kept",)),
    ".text": Case("Текст сохранён, kept.\n".encode("koi8-r"), ("Текст сохранён, kept.",)),
    ".md": Case(
        b"---\ntitle: Title kept\n---\n# Heading kept\n\n- Item kept\n\n|A|B|\n|-|-|\n|kept|1|\n",
        ("Heading kept", "Item kept", "kept|1"),
        title="Title kept",
    ),
    ".html": Case(
        HTML,
        ("# Heading kept", "text that is kept", "- Item kept"),
        {"hidden text": 1, "comments": 1},
        "Title kept",
    ),
    ".pdf": Case(pdf([pdf_text(72, 700, "Words of a page kept.")]), ("Words of a page kept.",)),
    ".png": Case(PNG, refusal=NO_OCR),
    ".docx": Case(
        word(),
        ("# Heading kept", "- Item kept", "| Cell kept |"),
        {"hidden text": 1, "comments": 1, "tracked changes": 1},
    ),
    ".pptx": Case(
        slides(), ("Title kept", "Body kept", "Notes kept"), {"comments": 1}, pages=("Title kept",)
    ),
    ".xlsx": Case(
        sheets(),
        ("Merged kept", "| 7 | 25% |"),
        {"hidden sheets": 1, "comments": 1, "formulas without values": 1},
        pages=("May kept",),
    ),
    ".odt": Case(odf_text(), ("# Heading kept", "Text kept"), title="Lens Care"),
    ".fodt": Case(flat("text", "<text:p>Text kept</text:p>"), ("Text kept",)),
    ".csv": Case(b"A,B\nkept,1\n", ("| A | B |", "| kept | 1 |")),
    ".tsv": Case(b"A\tB\nkept\t1\n", ("| A | B |", "| kept | 1 |")),
    ".json": Case(b'{"name kept": {"deep": "value kept"}}', ("name kept:", "deep: value kept")),
    ".jsonl": Case(b'{"a": "kept 1"}\n{"a": "kept 2"}\n', ("a: kept 1", "a: kept 2")),
    ".geojson": Case(
        b'{"type": "Feature", "properties": {"name": "Quay kept"}}', ("name: Quay kept",)
    ),
    ".epub": Case(book(), ("First steps", "Wipe the lens."), {"missing chapters": 1}, "Lens Care"),
    ".fb2": Case(
        b"<FictionBook><description><title-info><book-title>Title kept</book-title></title-info>"
        b"</description><body><section><title><p>Part kept</p></title><p>Text kept</p><image/>"
        b"</section></body><binary>secret</binary></FictionBook>",
        ("# Part kept", "Text kept"),
        title="Title kept",
        pages=("Part kept",),
    ),
    ".eml": Case(
        MAIL,
        ("Subject kept", "kept@example.org", "Body kept"),
        {"inline images": 1},
        "Subject kept",
    ),
    ".msg": Case(outlook(), ("Subject kept", "Sender kept", "Body kept"), title="Subject kept"),
    ".mbox": Case(b"From kept Tue Feb  3 10:00:00 2026\n" + MAIL, ("Subject kept",)),
    ".mhtml": Case(ARCHIVE, ("# Page kept", "page kept."), title="Subject kept"),
    ".ics": Case(
        b"BEGIN:VCALENDAR\nBEGIN:VTIMEZONE\nTZID:secret\nEND:VTIMEZONE\nBEGIN:VEVENT\n"
        b"SUMMARY:Event kept\nDTSTART:20260203\nLOCATION:Room kept\nBEGIN:VALARM\n"
        b"DESCRIPTION:secret\nEND:VALARM\nDESCRIPTION:Words kept\nEND:VEVENT\nEND:VCALENDAR\n",
        ("# Event kept", "start: 2026-02-03", "location: Room kept", "Words kept"),
    ),
    ".vcf": Case(
        b"BEGIN:VCARD\nFN:Name kept\nTEL:1 kept\nPHOTO:secret\nKEY:secret\nEND:VCARD\n",
        ("# Name kept", "phone: 1 kept"),
        {"pictures": 2},
    ),
    ".rtf": Case(
        rb"{\rtf1\ansi\ansicpg936{\info{\title Title kept}}{\header secret}Text \'bb\'fa kept"
        rb"{\v secret}{\deleted secret}{\*\annotation secret}\par}",
        ("Text 机 kept",),
        {"hidden text": 1, "tracked changes": 1, "comments": 1},
        "Title kept",
    ),
    ".tex": Case(
        b"\\usepackage{secret}\\title{Title kept}\\begin{document}\\section{Part kept} % secret\n"
        b"\\emph{Text} kept\\footnote{Note kept} $x_1$\\input{secret}\\begin{picture}secret"
        b"\\end{picture}\\end{document}",
        ("# Part kept", "Text kept", "Note kept", "$x_1$"),
        {"drawings": 1, "includes": 1},
        "Title kept",
    ),
    ".svg": Case(
        b"<svg><title>Title kept</title><desc>Words kept</desc><style>secret</style>"
        b'<text>Text kept</text><text display="none">secret</text></svg>',
        ("# Title kept", "Words kept", "Text kept"),
        {"hidden text": 1},
        "Title kept",
    ),
    ".ipynb": Case(
        NOTEBOOK,
        ("# Heading kept", "print('kept')", "Output kept"),
        {"images": 1, "cut outputs": 1},
    ),
    ".rst": Case(
        b"Part kept\n=========\n\nText kept.\n\n- Item kept\n\n.. include:: x.txt\n\n.. secret\n",
        ("# Part kept", "Text kept.", "- Item kept"),
        {"includes": 1},
    ),
    ".adoc": Case(
        b"= Title kept\n:attribute: secret\n\n== Part kept\n\nText kept.\n\n// secret\n\n"
        b"include::x.adoc[]\n\n++++\nsecret\n++++\n",
        ("Part kept", "Text kept."),
        {"includes": 1, "raw passages": 1},
        "Title kept",
    ),
    ".org": Case(
        b"#+TITLE: Title kept\n* Part kept :secret:\n:PROPERTIES:\n:ID: secret\n:END:\nText kept.\n"
        b"# secret\n- Item kept\n",
        ("# Part kept", "Text kept.", "- Item kept"),
        title="Title kept",
    ),
    ".srt": Case(
        b"1\n00:00:01,000 --> 00:00:02,000\n<i>Words kept.</i>\n", ("00:00:01", "Words kept.")
    ),
    ".vtt": Case(
        b"WEBVTT\n\nSTYLE\n::cue {secret}\n\n00:01.000 --> 00:02.000 line:0\n"
        b"<v Ann kept>Words kept.\n",
        ("Ann kept", "Words kept."),
    ),
    ".xml": Case(
        b"<article><!-- secret --><title>Title kept</title><para>Text kept</para></article>",
        ("Title kept", "Text kept"),
    ),
    ".py": Case(b"class Kept:\n    def kept(self):\n        pass\n", ("class Kept:", "def kept")),
    ".zip": Case(zipped({"kept.txt": "", ".secret": "", "__MACOSX/secret": ""})),
    ".tar": Case(tarred("")),
    ".tar.gz": Case(tarred("gz")),
    ".tar.bz2": Case(tarred("bz2")),
    ".tar.xz": Case(tarred("xz")),
    ".xls": Case(
        workbook({"May kept": [["Cell kept", 1.0]], "secret": [["secret"]]}, hidden=["secret"]),
        ("Cell kept",),
        {"hidden sheets": 1},
        pages=("May kept",),
    ),
    ".7z": Case(b"7z\xbc\xaf\x27\x1csecret", refusal="a 7z archive: install bsdtar"),
    ".heic": Case(b"secret", refusal=ocr.refusal("off")),
    ".doc": Case(compound({"WordDocument": b"x"}), refusal="a file of old Word: install"),
    ".ppt": Case(compound({"PowerPoint": b"x"}), refusal="a file of old PowerPoint: install"),
    # A binary workbook is made by Excel alone.
    ".xlsb": Case(b"secret", refusal="not a file of old Excel, as its name says: save it as .xlsx"),
}


def case_of(suffix: str, row: list[str]) -> Case | None:
    """Return a suffix's case, or that of another in its row that the same module reads."""
    if suffix in CASES:
        return CASES[suffix]
    modules = MODULES if suffix in MODULES else CONTAINERS
    same = (other for other in SUFFIX.findall(row[0]) if modules.get(other) == modules[suffix])
    return next((CASES[other] for other in same if other in CASES), None)


FILES: Final = [
    (suffix, case_of(suffix, row))
    for row in ROWS
    for suffix in (SUFFIX.findall(row[0]) or [".py"])
    if not row[0].startswith("files without")
]


def test_every_suffix_of_the_page_has_a_file() -> None:
    assert [suffix for suffix, case in FILES if case is None] == []
    assert CASES.keys() - {suffix for suffix, _ in FILES} == set()


@pytest.mark.parametrize(("suffix", "case"), FILES, ids=[suffix for suffix, _ in FILES])
def test_what_is_kept_and_what_is_not(
    suffix: str, case: Case, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "")  # without LibreOffice, bsdtar and heif-convert
    if suffix in CONTAINERS and suffix not in MODULES:
        if case.refusal:
            with pytest.raises(IngestError, match=re.escape(case.refusal)):
                members_of(case.data, suffix)
            return
        names = [name for name, _ in members_of(case.data, suffix)]
        assert len(names) == 1
        assert "kept" in names[0]
        return
    options = ParseOptions(ocr="off")
    if case.refusal:
        with pytest.raises(IngestError, match=re.escape(case.refusal)):
            parse_bytes(case.data, suffix, options)
        return
    check(parse_bytes(case.data, suffix, options), case)


def check(parsed: ParsedText, case: Case) -> None:
    assert [phrase for phrase in case.kept if phrase not in parsed.text] == []
    assert "secret" not in parsed.text
    assert {name: parsed.notes.get(name) for name in case.notes} == dict(case.notes)
    assert parsed.title == case.title or not case.title
    assert {page.label for page in parsed.pages} >= set(case.pages)


@pytest.mark.parametrize("row", ROWS, ids=[row[0][:20] for row in ROWS])
def test_what_the_page_counts_is_counted(row: list[str]) -> None:
    cases = [case_of(suffix, row) for suffix in SUFFIX.findall(row[0])]
    noted = {name for case in cases if case for name in case.notes}
    counted = set(COUNTED.findall(" ".join(row[1:])))
    assert counted - noted - ELSEWHERE == set()


OPENED: Final[Mapping[str, Callable[[], io.BytesIO]]] = {
    "README": lambda: io.BytesIO(b"kept"),
    "core": lambda: io.BytesIO(b"\x7fELF" + bytes(99)),
    "Makefile": lambda: io.BytesIO(b"kept:\n"),
    "Dockerfile": lambda: io.BytesIO(b"FROM kept\n"),
}


def test_files_without_a_suffix() -> None:
    assert any(row[0] == "files without a suffix" for row in ROWS)
    suffixes = {name: suffix_by_content(name, opened) for name, opened in OPENED.items()}
    assert suffixes == {
        "README": ".txt",
        "core": "",
        "Makefile": ".mk",
        "Dockerfile": ".dockerfile",
    }
