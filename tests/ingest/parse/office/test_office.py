"""Word, PowerPoint and Excel files, made by other libraries: structure, order, what is left out."""

import datetime as dt
import io
import zipfile
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from ragkit.types import Page, ParsedText
from ragkit_ingest.parse import ParseOptions, parse_bytes

WORD = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
STRICT_WORD = "http://purl.oclc.org/ooxml/wordprocessingml/main"
RELATIONS = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
STRICT_RELATIONS = "http://purl.oclc.org/ooxml/officeDocument/relationships"

_OPTIONS = ParseOptions(unzipped_bytes=64 << 20)
KEEP = replace(_OPTIONS, comments="keep")


def parse(data: bytes, suffix: str, options: ParseOptions = _OPTIONS) -> ParsedText:
    return parse_bytes(data, suffix, options)


def saved(document: Any) -> bytes:
    buffer = io.BytesIO()
    document.save(buffer)
    return buffer.getvalue()


def docx_of(body: str, *, parts: Mapping[str, str] | None = None, strict: bool = False) -> bytes:
    """Write a .docx by hand; `parts` maps relation kinds to the XML of word/KIND.xml."""
    word, relations = (STRICT_WORD, STRICT_RELATIONS) if strict else (WORD, RELATIONS)
    head = f'<?xml version="1.0"?><w:{{}} xmlns:w="{word}"'
    head += ' xmlns:m="urn:m" xmlns:mc="urn:mc" xmlns:v="urn:v">'
    names = dict(parts or {})
    lines = "".join(
        f'<Relationship Id="r{n}" Type="{relations}/{kind}" Target="{kind}.xml"/>'
        for n, kind in enumerate(names)
    )
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr(
            "_rels/.rels",
            f'<Relationships><Relationship Id="a" Type="{relations}/officeDocument"'
            ' Target="/word/document.xml"/></Relationships>',
        )
        archive.writestr(
            "word/document.xml", f"{head.format('document')}<w:body>{body}</w:body></w:document>"
        )
        archive.writestr("word/_rels/document.xml.rels", f"<Relationships>{lines}</Relationships>")
        for kind, xml in names.items():
            archive.writestr(f"word/{kind}.xml", f"{head.format(kind)}{xml}</w:{kind}>")
    return buffer.getvalue()


def paragraph(text: str, properties: str = "") -> str:
    return f"<w:p><w:pPr>{properties}</w:pPr><w:r><w:t>{text}</w:t></w:r></w:p>"


def test_a_word_document_in_body_order() -> None:
    import docx

    document = docx.Document()
    document.core_properties.title = "Onboarding"
    document.core_properties.author = "R. Writer"
    document.core_properties.created = dt.datetime(2026, 1, 31, 8, 30)
    document.core_properties.modified = dt.datetime(2026, 2, 1)
    document.add_heading("Onboarding", 1)
    document.add_paragraph("Bring your passport.")
    document.add_paragraph("laptop", style="List Bullet")
    document.add_paragraph("badge", style="List Bullet")
    document.add_paragraph("sign", style="List Number")
    document.add_paragraph("return", style="List Number")
    table = document.add_table(rows=3, cols=3)
    for index, text in enumerate("Item Who When lens Ann - - - cap".split()):
        table.cell(index // 3, index % 3).text = text
    table.cell(1, 0).merge(table.cell(2, 0)).text = "lens"
    document.add_heading("第二章 安全", 2)
    document.add_paragraph("戴上\n护目镜。")
    document.sections[0].header.paragraphs[0].text = "HEADER"
    parsed = parse(saved(document), ".docx")
    assert parsed.text == (
        "# Onboarding\n\nBring your passport.\n\n- laptop\n- badge\n1. sign\n2. return\n\n"
        "| Item | Who | When |\n| - | - | - |\n| lens | Ann | - |\n| lens | - | cap |\n\n"
        "## 第二章 安全\n\n戴上\n护目镜。\n"
    )
    assert parsed.title == "Onboarding"
    assert parsed.metadata == {
        "author": "R. Writer",
        "created": "2026-01-31T08:30:00+00:00",
        "modified": "2026-02-01T00:00:00+00:00",
    }
    kinds = [(block.kind, block.level) for block in parsed.blocks]
    assert kinds == [
        ("heading", 1),
        ("paragraph", 0),
        ("list", 0),
        ("table", 0),
        ("heading", 2),
        ("paragraph", 0),
    ]


@pytest.mark.parametrize("strict", [False, True])
def test_headings_of_any_language_and_numbered_ones(strict: bool) -> None:
    styles = (
        '<w:style w:styleId="a"><w:name w:val="heading 1"/>'
        '<w:pPr><w:numPr><w:numId w:val="7"/></w:numPr></w:pPr></w:style>'
        '<w:style w:styleId="b"><w:name w:val="Mine"/><w:basedOn w:val="a"/>'
        '<w:pPr><w:outlineLvl w:val="1"/><w:numPr><w:ilvl w:val="1"/></w:numPr></w:pPr></w:style>'
        '<w:style w:styleId="c"><w:name w:val="标题 3"/></w:style>'
        '<w:style w:styleId="x"><w:name w:val="x"/><w:basedOn w:val="y"/></w:style>'
        '<w:style w:styleId="y"><w:name w:val="y"/><w:basedOn w:val="x"/></w:style>'
    )
    numbering = (
        '<w:abstractNum w:abstractNumId="0">'
        '<w:lvl w:ilvl="0"><w:numFmt w:val="chineseCounting"/><w:lvlText w:val="第%1章"/></w:lvl>'
        '<w:lvl w:ilvl="1"><w:start w:val="4"/><w:numFmt w:val="decimal"/>'
        '<w:lvlText w:val="%2."/></w:lvl></w:abstractNum>'
        '<w:num w:numId="7"><w:abstractNumId w:val="0"/></w:num>'
    )
    body = "".join(
        paragraph(text, f'<w:pStyle w:val="{style}"/>')
        for style, text in [
            ("a", "一"),
            ("b", "二"),
            ("b", "三"),
            ("a", "四"),
            ("c", "五"),
            ("x", "六"),
        ]
    )
    parts = {"styles": styles, "numbering": numbering}
    assert parse(docx_of(body, parts=parts, strict=strict), ".docx").text == (
        "# 第一章 一\n\n## 4. 二\n\n## 5. 三\n\n# 第二章 四\n\n### 五\n\n六\n"
    )


def test_boxes_notes_equations_and_changes() -> None:
    body = (
        "<w:p><w:r><w:t>Area </w:t></w:r><m:oMath><m:r><m:t>A=π</m:t></m:r><m:sSup><m:e><m:r>"
        "<m:t>r</m:t></m:r></m:e><m:sup><m:r><m:t>2</m:t></m:r></m:sup></m:sSup><m:f><m:num><m:r>"
        "<m:t>a+b</m:t></m:r></m:num><m:den><m:r><m:t>c</m:t></m:r></m:den></m:f></m:oMath>"
        '<w:r><w:footnoteReference w:id="2"/><w:tab/><w:t>.</w:t></w:r>'
        "<w:del><w:r><w:delText>gone</w:delText></w:r></w:del>"
        "<w:ins><w:r><w:t> new</w:t></w:r></w:ins>"
        "<w:r><w:rPr><w:vanish/></w:rPr><w:t>hidden</w:t></w:r></w:p>"
        "<w:p><w:r><mc:AlternateContent><mc:Choice><w:txbxContent>"
        + paragraph("in a box")
        + "</w:txbxContent></mc:Choice><mc:Fallback><w:txbxContent>"
        + paragraph("in a box")
        + "</w:txbxContent></mc:Fallback></mc:AlternateContent></w:r></w:p>"
        "<w:sdt><w:sdtContent>" + paragraph("in a control") + "</w:sdtContent></w:sdt>"
        "<w:tbl><w:tr><w:tc>" + paragraph("framed") + paragraph("text") + "</w:tc></w:tr></w:tbl>"
    )
    notes = f'<w:footnote w:id="2">{paragraph("A note.")}</w:footnote>'
    assert parse(docx_of(body, parts={"footnotes": notes}), ".docx").text == (
        "Area A=πr^2(a+b)/c[^1] . new\n\nin a box\n\nin a control\n\nframed\n\ntext\n\n"
        "[^1]: A note.\n"
    )


def test_slides_are_pages() -> None:
    import pptx
    from pptx.chart.data import CategoryChartData
    from pptx.enum.chart import XL_CHART_TYPE
    from pptx.util import Inches

    deck = pptx.Presentation()
    slide = deck.slides.add_slide(deck.slide_layouts[1])
    slide.shapes.title.text = "Radar\vgauge"
    frame = slide.placeholders[1].text_frame
    frame.text = "no contact"
    frame.add_paragraph().text = "two metres"
    frame.paragraphs[1].level = 1
    group = slide.shapes.add_group_shape()
    box = group.shapes.add_textbox(0, 0, Inches(1), Inches(1))
    box.text_frame.text = "in a group"
    slide.notes_slide.notes_text_frame.text = "say hello"
    deck.slides.add_slide(deck.slide_layouts[6])
    three = deck.slides.add_slide(deck.slide_layouts[5])
    three.shapes.title.text = "销售"
    cells = three.shapes.add_table(2, 2, 0, 0, Inches(4), Inches(1)).table
    for index, text in enumerate(["年", "台", "2024", "12"]):
        cells.cell(index // 2, index % 2).text = text
    data: Any = CategoryChartData()  # type: ignore[no-untyped-call]
    data.categories = ["Q1", "Q2"]
    data.add_series("sold", (3, 4.5))
    three.shapes.add_chart(XL_CHART_TYPE.BAR_CLUSTERED, 0, 0, Inches(4), Inches(3), data)
    parsed = parse(saved(deck), ".pptx")
    assert parsed.text == (
        "# Radar gauge\n\n- no contact\n  - two metres\n\nin a group\n\nNotes: say hello\n\n"
        "# 销售\n\n| 年 | 台 |\n| - | - |\n| 2024 | 12 |\n\n"
        "|  | sold |\n| - | - |\n| Q1 | 3 |\n| Q2 | 4.5 |\n"
    )
    second = parsed.text.index("# 销售")
    assert parsed.pages == (Page(0, 1, "Radar gauge"), Page(second, 3, "销售"))


def test_sheets_are_pages_and_regions_tables() -> None:
    import openpyxl
    from openpyxl.comments import Comment

    book = openpyxl.Workbook()
    sheet = book.worksheets[0]
    sheet.title = "Intervals"
    sheet["B2"] = "Service intervals"
    for row, values in enumerate([("part", "months", "since"), ("lens", 6, dt.date(2026, 1, 31))]):
        for column, value in enumerate(values):
            sheet.cell(4 + row, 2 + column, value)
    sheet["G4"], sheet["H4"], sheet["G5"], sheet["H5"] = "a", "b", 0.1 + 0.2, True
    sheet["B7"], sheet["B8"], sheet["C8"] = "all parts", 1.5, dt.datetime(2026, 1, 2, 3, 4, 5)
    sheet.merge_cells("B7:C7")
    sheet["B10"] = "=1+1"
    sheet["B2"].comment = Comment("check", "Ann")
    book.create_sheet("空")
    second_sheet = book.create_sheet("库存")
    second_sheet["A1"], second_sheet["B1"] = "型号|甲", dt.time(8, 30)
    parsed = parse(saved(book), ".xlsx")
    assert parsed.text == (
        "# Intervals\n\nService intervals\n\n"
        "| part | months | since |\n| - | - | - |\n| lens | 6 | 2026-01-31 |\n\n"
        "| a | b |\n| - | - |\n| 0.3 | TRUE |\n\n"
        "| all parts |  |\n| - | - |\n| 1.5 | 2026-01-02 03:04:05 |\n\n"
        "# 库存\n\n| 型号\\|甲 | 08:30:00 |\n| - | - |\n"
    )
    assert [(page.number, page.label) for page in parsed.pages] == [(1, "Intervals"), (3, "库存")]
    assert parsed.notes == {"comments": 1, "formulas without values": 1}


def test_a_merged_cell_stands_in_all_its_places() -> None:
    import openpyxl

    book = openpyxl.Workbook()
    sheet = book.worksheets[0]
    for row in [("site", "gauge"), ("north", 1), (None, 2)]:
        sheet.append(row)
    sheet.merge_cells("A2:A3")
    assert "| north | 1 |\n| north | 2 |\n" in parse(saved(book), ".xlsx").text


def test_cells_at_the_edges_of_a_sheet_cost_nothing() -> None:
    import openpyxl

    book = openpyxl.Workbook()
    sheet = book.worksheets[0]
    sheet["A1"], sheet["XFD1048576"] = "first", "last"
    assert parse(saved(book), ".xlsx").text == "# Sheet\n\nfirst\n\nlast\n"
