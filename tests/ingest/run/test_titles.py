"""What a document is called: what it says of itself, its one top heading, or its file's name."""

import io
import json
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr

from ragkit.settings.settings import Settings
from ragkit.store.connection.connect import connect
from ragkit_ingest.parse import parse_bytes
from ragkit_ingest.run.run import ingest
from ragkit_ingest.run.titles import only_heading

ENGLISH = ("Leave", "Meals")
CHINESE = ("请假", "用餐")


def title(data: bytes | str, suffix: str) -> str:
    """Give what a file is called by its content; "" where its name is to be taken."""
    parsed = parse_bytes(data.encode() if isinstance(data, str) else data, suffix)
    return parsed.title or only_heading(parsed, suffix)


def _word(first: str, second: str, style: int = 1) -> bytes:
    import docx

    document = docx.Document()
    document.core_properties.title = ""
    for heading in (first, second):
        document.add_heading(heading, 1 if heading == first else style)
        document.add_paragraph("Ask the office.")
    return _saved(document)


def _saved(document: Any) -> bytes:
    buffer = io.BytesIO()
    document.save(buffer)
    return buffer.getvalue()


def _notebook(first: str, second: str, level: int = 1) -> str:
    cells = [
        {"cell_type": "markdown", "source": f"{marks} {heading}\n\nAsk the office."}
        for marks, heading in (("#", first), ("#" * level, second))
    ]
    return json.dumps({"nbformat": 4, "metadata": {}, "cells": cells})


def _odt(*paragraphs: str, styles: str = "") -> bytes:
    names = "office text style dc meta".split()
    spaces = " ".join(f'xmlns:{name}="urn:odf:{name}"' for name in names)
    content = (
        f"<office:document-content {spaces}><office:automatic-styles>{styles}"
        f"</office:automatic-styles><office:body><office:text>{''.join(paragraphs)}"
        "</office:text></office:body></office:document-content>"
    )
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("content.xml", content)
    return buffer.getvalue()


def _odt_headings(first: str, second: str, level: int = 1) -> bytes:
    heading = '<text:h text:outline-level="{}">{}</text:h><text:p>Ask the office.</text:p>'
    return _odt(heading.format(1, first), heading.format(level, second))


MAKERS: dict[str, Callable[[str, str, int], bytes | str]] = {
    ".md": lambda a, b, n: f"# {a}\n\nAsk.\n\n{'#' * n} {b}\n\nAsk.\n",
    ".html": lambda a, b, n: f"<h1>{a}</h1><p>Ask.</p><h{n}>{b}</h{n}><p>Ask.</p>",
    ".adoc": lambda a, b, n: f"= {a}\n\nAsk.\n\n{'=' * n} {b}\n\nAsk.\n",
    ".org": lambda a, b, n: f"* {a}\nAsk.\n{'*' * n} {b}\nAsk.\n",
    ".docx": _word,
    ".odt": _odt_headings,
    ".ipynb": _notebook,
}
MAKERS[".markdown"] = lambda a, b, n: f"{a}\n===\n\nAsk.\n\n{b}\n{'=-'[n - 1] * 3}\n\nAsk.\n"
MAKERS[".rst"] = lambda a, b, n: f"{a}\n=====\n\nAsk.\n\n{b}\n{'=-'[n - 1] * 5}\n\nAsk.\n"


@pytest.mark.parametrize("suffix", MAKERS)
@pytest.mark.parametrize(("first", "second"), [ENGLISH, CHINESE])
def test_the_one_top_heading_is_the_title_and_one_of_several_is_not(
    suffix: str, first: str, second: str
) -> None:
    make = MAKERS[suffix]
    assert title(make(first, second, 2), suffix) == first
    assert title(make(first, second, 1), suffix) == ""


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("## Notice\n\nx\n\n# Leave\n\nx\n", ""),  # what comes first is not below the other
        ("## Leave\n\nx\n\n### Meals\n\nx\n", "Leave"),
        ("### Meals\n\nx\n\n## Leave\n\nx\n\n## Travel\n\nx\n", ""),
        ("No heading.\n", ""),
        ("# About C#\n\nx\n", "About C#"),
        ("# Leave #\n\nx\n", "Leave"),
        ("---\ntitle: Handbook\n---\n\n# Leave\n\nx\n\n# Meals\n\nx\n", "Handbook"),
    ],
)
def test_a_markdown_files_title(text: str, named: str) -> None:
    assert title(text, ".md") == named


NO_TITLES = (
    *("Untitled Document", "Microsoft Word - plan.docx", "PowerPoint Presentation", "Slide 1"),
    *(
        "无标题",
        "新建文档",
        "Document1",
        "C:\\Temp\\~WRL0003.tmp",
        "Introduction",
        "Contents",
        "目录",
    ),
)


@pytest.mark.parametrize("named", NO_TITLES)
def test_what_programs_write_for_a_title_is_none(named: str) -> None:
    import docx
    import openpyxl
    import pptx

    document = docx.Document()
    document.add_paragraph("Ask.")
    deck = pptx.Presentation()
    deck.slides.add_slide(deck.slide_layouts[0]).shapes.title.text = named
    book = openpyxl.Workbook()
    book.active.append(["name", "days"])
    book.properties.title = named
    for office in (document, deck):
        office.core_properties.title = named
    saved = ((document, ".docx"), (deck, ".pptx"), (book, ".xlsx"))
    assert [title(_saved(file), suffix) for file, suffix in saved] == [""] * 3
    assert title(f"<title>{named}</title><h1>{named}</h1><p>Ask.", ".html") == ""
    assert title(f"# {named}\n\nAsk.\n\n## Leave\n\nAsk.\n", ".md") == ""


def test_what_is_no_title_gives_way_to_one() -> None:
    import docx
    import pptx

    document = docx.Document()
    document.core_properties.title = "Document1"
    document.add_heading("目录", 0)
    document.add_heading("员工手册", 1)
    document.add_heading("请假", 2)
    assert title(_saved(document), ".docx") == ""  # two top headings
    document = docx.Document()
    document.core_properties.title = "Document1"
    document.add_heading("员工手册", 0)
    assert title(_saved(document), ".docx") == "员工手册"
    deck = pptx.Presentation()
    deck.core_properties.title = "PowerPoint Presentation"
    deck.slides.add_slide(deck.slide_layouts[0]).shapes.title.text = "Handbook"
    assert title(_saved(deck), ".pptx") == "Handbook"
    page = '<title>Untitled</title><meta property="og:title" content="Handbook"><h1>Leave</h1>'
    assert title(page, ".html") == "Handbook"
    assert title("<title>index.html</title><h1>Leave</h1><p>Ask.", ".html") == "Leave"


def test_what_a_format_has_for_a_title_wins_over_headings() -> None:
    chapters = "<h1>Leave</h1><p>Ask.</p><h1>Meals</h1><p>Ask.</p>"
    assert title(f"<title>Handbook</title>{chapters}", ".html") == "Handbook"
    assert title("#+TITLE: 手册\n* 请假\n问。\n* 用餐\n问。\n", ".org") == "手册"


def test_the_header_of_asciidoc_is_the_title_of_a_book_in_parts() -> None:
    parts = "= Part one\n\nAsk.\n\n= Part two\n\nAsk.\n"
    assert title(f"= Handbook\n:doctype: book\n\n{parts}", ".adoc") == "Handbook"
    assert title(f"Ask first.\n\n{parts}", ".adoc") == ""


def test_word_and_opendocument_have_a_style_for_the_title() -> None:
    import docx

    document = docx.Document()
    document.core_properties.title = ""
    document.add_heading("Handbook", 0)
    for heading in ENGLISH:
        document.add_heading(heading, 1)
        document.add_paragraph("Ask.")
    assert title(_saved(document), ".docx") == "Handbook"
    heading = '<text:h text:outline-level="1">{}</text:h><text:p>问。</text:p>'
    chapters = "".join(map(heading.format, CHINESE))
    styled = '<style:style style:name="P1" style:parent-style-name="Title"/>'
    for style in ("Title", "P1"):
        first = f'<text:p text:style-name="{style}">员工<text:span>手册</text:span></text:p>'
        assert title(_odt(first, chapters, styles=styled), ".odt") == "员工手册"


def test_a_presentation_is_called_what_its_title_slide_says() -> None:
    import pptx

    deck = pptx.Presentation()
    deck.core_properties.title = ""
    for layout, named in ((1, "Leave"), (1, "Meals")):
        deck.slides.add_slide(deck.slide_layouts[layout]).shapes.title.text = named
    assert title(_saved(deck), ".pptx") == ""
    deck = pptx.Presentation()
    deck.core_properties.title = ""
    for layout, named in ((0, "Handbook"), (1, "Leave")):
        deck.slides.add_slide(deck.slide_layouts[layout]).shapes.title.text = named
    assert title(_saved(deck), ".pptx") == "Handbook"


def test_a_book_is_not_called_what_its_first_chapter_is() -> None:
    chapters = "".join(
        f"<chapter><title>{name}</title><para>Ask.</para></chapter>" for name in ENGLISH
    )
    assert title(f"<book>{chapters}</book>", ".xml") == ""
    assert title(f"<book><title>Handbook</title>{chapters}</book>", ".xml") == "Handbook"
    figure = "<figure><title>A lens</title></figure><para>Ask.</para>"
    assert title(f"<article>{figure}</article>", ".xml") == ""


def test_sheets_and_definitions_are_no_titles() -> None:
    import openpyxl

    book = openpyxl.Workbook()
    sheet = book.active
    assert sheet is not None
    sheet.append(["name", "days"])
    sheet.append(["Ann", 25])
    assert title(_saved(book), ".xlsx") == ""
    assert title('"""Say."""\n\n\ndef leave() -> int:\n    return 25\n', ".py") == ""


@pytest.mark.usefixtures("shared_model")
def test_a_file_with_several_top_headings_is_called_by_its_name(
    fresh_database: str, tmp_path: Path
) -> None:
    settings = Settings(database_url=SecretStr(fresh_database), home=tmp_path / "home")
    days = "# Leave\n\n" + "Everybody has 25 days of leave a year. " * 60
    (tmp_path / "handbook.md").write_text(f"{days}\n\n# Meals\n\nThe canteen opens at noon.\n")
    (tmp_path / "手册.md").write_text("# 请假\n\n年假为十五天。\n\n# 用餐\n\n食堂十二点开门。\n")
    ingest([tmp_path / "handbook.md", tmp_path / "手册.md"], settings=settings)
    with connect(fresh_database) as conn:
        rows = conn.execute("SELECT title FROM document ORDER BY title").fetchall()
    assert rows == [("handbook",), ("手册",)]
