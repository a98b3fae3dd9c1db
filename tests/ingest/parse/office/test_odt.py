"""OpenDocument texts, sheets and slides: structure, comments, tracked changes, hostile files."""

import io
import zipfile
from collections.abc import Mapping
from typing import Any

import pytest

from ragkit.errors import IngestError
from ragkit.types import Page, ParsedText
from ragkit_ingest.parse import ParseOptions, parse_bytes

NAMES = "office text table draw style dc meta presentation fo xlink manifest svg".split()
SPACES = " ".join(f'xmlns:{name}="urn:odf:{name}"' for name in NAMES)
STYLES = (
    '<office:automatic-styles><text:list-style style:name="L1">'
    '<text:list-level-style-number text:level="1" style:num-format="1"/>'
    '<text:list-level-style-bullet text:level="2"/></text:list-style>'
    '<style:style style:name="T9"><style:text-properties text:display="none"/></style:style>'
    "</office:automatic-styles>"
)
META = (
    f"<office:document-meta {SPACES}><office:meta><dc:title>Lens Care</dc:title>"
    "<meta:initial-creator>Ann Lee</meta:initial-creator><dc:creator>Bo</dc:creator>"
    "<meta:creation-date>2026-02-03T10:00:00</meta:creation-date><dc:date>2026-02-04T11:00:00"
    "</dc:date></office:meta></office:document-meta>"
)


def document(
    body: str, kind: str = "text", files: Mapping[str, bytes | str] | None = None
) -> bytes:
    content = (
        f"<office:document-content {SPACES}>{STYLES}<office:body><office:{kind}>{body}"
        f"</office:{kind}></office:body></office:document-content>"
    )
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in {"content.xml": content, "meta.xml": META, **(files or {})}.items():
            archive.writestr(name, data)
    return buffer.getvalue()


def parse(data: bytes, suffix: str = ".odt", **options: Any) -> ParsedText:
    return parse_bytes(data, suffix, ParseOptions(unzipped_bytes=8 << 20, **options))


def reason(data: bytes) -> str:
    with pytest.raises(IngestError) as caught:
        parse(data)
    assert "\n" not in caught.value.reason
    return caught.value.reason


def test_a_text_in_order() -> None:
    parsed = parse(
        document(
            '<text:sequence-decls/><text:h text:outline-level="2">Cleaning<text:tab/>it</text:h>'
            '<text:p>Wipe<text:s text:c="3"/>the <text:span>lens</text:span><text:note>'
            "<text:note-citation>7</text:note-citation><text:note-body><text:p>Gently.</text:p>"
            "</text:note-body></text:note>.<text:line-break/>Twice.</text:p>"
            '<text:list text:style-name="L1"><text:list-item><text:p>一</text:p><text:list>'
            "<text:list-item><text:p>inner</text:p></text:list-item></text:list></text:list-item>"
            "<text:list-item><text:p>二</text:p></text:list-item></text:list>"
            "<text:table-of-content><text:p>contents</text:p></text:table-of-content>"
            '<text:p><text:span text:style-name="T9">hidden</text:span>shown</text:p>'
            "<text:p><draw:frame><draw:text-box><text:p>boxed</text:p></draw:text-box></draw:frame>"
            "</text:p>"
        )
    )
    assert parsed.text == (
        "## Cleaning it\n\nWipe the lens[^1].\nTwice.\n\n1. 一\n  - inner\n2. 二\n\n"
        "shown\n\nboxed\n\n[^1]: Gently.\n"
    )
    assert parsed.title == "Lens Care"
    assert parsed.metadata == {
        "author": "Ann Lee",
        "created": "2026-02-03T10:00:00",
        "modified": "2026-02-04T11:00:00",
    }
    assert parsed.notes == {"hidden text": 1}


def cell(text: str, attributes: str = "") -> str:
    inner = f"<text:p>{text}</text:p>" if text else ""
    return f"<table:table-cell {attributes}>{inner}</table:table-cell>"


def row(*cells: str, attributes: str = "") -> str:
    return f"<table:table-row {attributes}>{''.join(cells)}</table:table-row>"


def test_tables_with_spans() -> None:
    table = (
        "<table:table><table:table-column/><table:table-header-rows>"
        + row(cell("a"), cell("b"), cell("c"))
        + "</table:table-header-rows>"
        + row(
            cell("tall", 'table:number-rows-spanned="2"'),
            cell("wide", 'table:number-columns-spanned="2"'),
            "<table:covered-table-cell/>",
        )
        + row("<table:covered-table-cell/>", cell("1"), cell("2"))
        + "</table:table>"
    )
    assert parse(document(table)).text == (
        "| a | b | c |\n| - | - | - |\n| tall | wide | wide |\n| tall | 1 | 2 |\n"
    )


CHANGES = (
    '<text:tracked-changes><text:changed-region text:id="c1"><text:deletion><office:change-info>'
    "<dc:creator>Ann</dc:creator></office:change-info><text:p>old </text:p></text:deletion>"
    '</text:changed-region><text:changed-region text:id="c2"><text:insertion/>'
    '</text:changed-region></text:tracked-changes><text:p>The <text:change text:change-id="c1"/>'
    '<text:change-start text:change-id="c2"/>new<text:span> big</text:span>'
    '<text:change-end text:change-id="c2"/> lens<office:annotation><dc:creator>Bo</dc:creator>'
    "<text:p>Which one?</text:p></office:annotation>.</text:p>"
)


@pytest.mark.parametrize(
    ("options", "text", "notes"),
    [
        ({}, "The new big lens.\n", {"comments": 1, "deleted text": 1}),
        ({"revisions": "original"}, "The old lens.\n", {"comments": 1, "inserted text": 1}),
        (
            {"revisions": "both", "comments": "keep"},
            "The [deleted: old][inserted: new big] lens [comment by Bo: Which one?] .\n",
            {},
        ),
    ],
)
def test_comments_and_tracked_changes(
    options: dict[str, str], text: str, notes: dict[str, int]
) -> None:
    parsed = parse(document(CHANGES), **options)
    assert (parsed.text, parsed.notes) == (text, notes)


def test_sheets_are_pages_and_empty_cells_cost_nothing() -> None:
    far = 'table:number-columns-repeated="16384"'
    sheet = (
        '<table:table table:name="Prices">'
        + row(cell("lens"), cell("", 'table:number-columns-repeated="2"'), cell("12"))
        + row(cell("", far), attributes='table:number-rows-repeated="1048576"')
        + row(cell("cap"), cell("5", 'table:number-columns-repeated="3"'), cell("", far))
        + '</table:table><table:table table:name="空"/><table:table table:name="Last">'
        + row(cell("x"), cell("y"))
        + "</table:table>"
    )
    parsed = parse(document(sheet, "spreadsheet"), ".ods")
    assert parsed.text == (
        "| lens |  |  | 12 |\n| - | - | - | - |\n| cap | 5 | 5 | 5 |\n\n| x | y |\n| - | - |\n"
    )
    assert parsed.pages == (Page(0, 1, "Prices"), Page(parsed.text.index("| x"), 3, "Last"))


def test_repeated_cells_are_bounded() -> None:
    wide = row(cell("y" * 100, 'table:number-columns-repeated="16384"'))
    sheet = f'<table:table table:name="s">{wide * 50}</table:table>'
    assert len(parse(document(sheet, "spreadsheet"), ".ods").text) < 3_000_000


def test_slides_with_titles_and_notes() -> None:
    frame = (
        '<draw:frame presentation:class="{}" {}><draw:text-box><text:p>{}</text:p>'
        "</draw:text-box></draw:frame>"
    )
    slides = (
        '<draw:page draw:name="p1">'
        + frame.format("title", "", "Why glass")
        + frame.format("outline", "", "Because.")
        + frame.format("outline", 'presentation:placeholder="true"', "Click to add")
        + "<presentation:notes>"
        + frame.format("notes", "", "Say it slowly.")
        + "</presentation:notes></draw:page>"
        + '<draw:page draw:name="p2">'
        + frame.format("title", "", "谢谢")
        + "</draw:page>"
    )
    parsed = parse(document(slides, "presentation"), ".odp")
    assert parsed.text == "# Why glass\n\nBecause.\n\nSay it slowly.\n\n# 谢谢\n"
    assert [page.label for page in parsed.pages] == ["p1", "p2"]


def test_hostile_files() -> None:
    manifest = f"<manifest:manifest {SPACES}><manifest:file-entry><manifest:encryption-data/>"
    locked = {"META-INF/manifest.xml": f"{manifest}</manifest:file-entry></manifest:manifest>"}
    assert reason(document("", files=locked)) == (
        "encrypted: it needs a password; save it without one"
    )
    laughs = '<!DOCTYPE d [<!ENTITY a "ha"><!ENTITY b "&a;&a;">]><d>&b;</d>'
    for encoding in ("utf-8", "utf-16"):
        data = document("", files={"content.xml": laughs.encode(encoding)})
        assert reason(data) == "a DOCTYPE that declares entities in its member 'content.xml'"
    assert reason(document("", files={"content.xml": b" " * (20 << 20)})).startswith(
        "unpacks to more than the budget of 8 MB"
    )
    assert reason(document("", files={"content.xml": "<d>"})).startswith(
        "damaged XML in its member"
    )
    deep = "<text:section>" * 240 + "<text:p>deep</text:p>" + "</text:section>" * 240
    assert parse(document(deep)).text == "deep\n"
    assert reason(document("<text:span>" * 300 + "</text:span>" * 300)).startswith("damaged XML")
    assert reason(b"hello") == "not really a zip archive, which its format is made of"
    data = document("<text:p>x</text:p>")
    for size in range(10, len(data), 97):
        assert reason(data[:size]) == (
            "truncated or damaged zip archive, which its format is made of"
        )
    empty = io.BytesIO()
    with zipfile.ZipFile(empty, "w") as archive:
        archive.writestr("a.txt", "x")
    assert reason(empty.getvalue()) == ("not an OpenDocument file: its archive has no content.xml")
