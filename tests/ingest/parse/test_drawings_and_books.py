"""XML texts that are drawings, books or flat OpenDocument: what is kept, and hostile files."""

import pytest

from ragkit.errors import IngestError
from ragkit.types import Page
from ragkit_ingest.parse import parse_bytes
from tests.ingest.parse.office.test_odt import META, SPACES, STYLES

DRAWING = """<?xml version="1.0"?><!DOCTYPE svg PUBLIC "-//W3C//DTD SVG 1.1//EN" "http://x/s.dtd">
<svg xmlns="http://www.w3.org/2000/svg"><title>Flow of orders</title><desc>From sale to
shipment.</desc><style>.secret{}</style><g><text>Sale <tspan x="3">desk</tspan><tspan>s</tspan>
</text><text style="display: none">Secret</text><g><title>Box</title><rect/></g>
<foreignObject><div xmlns="h">In <b>HTML</b></div></foreignObject></g></svg>"""


def test_a_drawing() -> None:
    parsed = parse_bytes(DRAWING.encode(), ".svg")
    text = "# Flow of orders\n\nFrom sale to shipment.\n\nSale desks\n\nBox\n\nIn HTML\n"
    assert (parsed.text, parsed.title) == (text, "Flow of orders")
    assert parsed.notes == {"hidden text": 1}


BOOK = """<?xml version="1.0" encoding="windows-1251"?>
<FictionBook xmlns="http://www.gribuser.ru/xml/fictionbook/2.0"><description><title-info>
<author><first-name>Анна</first-name><last-name>Ли</last-name></author>
<book-title>Lens Care</book-title><date value="2026-02-03">Feb</date><lang>ru</lang></title-info>
<publish-info><book-name>Secret</book-name></publish-info></description>
<body><section><title><p>First</p></title><p>Wipe <emphasis>the</emphasis> lens.<a>[1]</a></p>
<section><title><p>Deep</p></title><p>Inner.</p><image/></section></section>
<section><title><p>Второй</p></title><poem><stanza><v>One</v><v>Two</v></stanza></poem>
<table><tr><th>A</th><th>B</th></tr><tr><td>1</td><td>2</td></tr></table></section></body>
<body name="notes"><title><p>Notes</p></title><section><title><p>1</p></title><p>Softly.</p>
</section></body><binary id="x">AAAA</binary></FictionBook>"""


def test_a_book() -> None:
    parsed = parse_bytes(BOOK.encode("cp1251"), ".fb2")
    assert parsed.text == (
        "# First\n\nWipe the lens.[1]\n\n## Deep\n\nInner.\n\n# Второй\n\nOne\nTwo\n\n"
        "| A | B |\n| - | - |\n| 1 | 2 |\n\n# Notes\n\n## 1\n\nSoftly.\n"
    )
    assert (parsed.title, parsed.metadata) == (
        "Lens Care",
        {"author": "Анна Ли", "created": "2026-02-03", "book_language": "ru"},
    )
    assert [page.label for page in parsed.pages] == ["First", "Второй", "Notes"]


def flat(kind: str, body: str) -> bytes:
    meta = META.partition("<office:meta>")[2].partition("</office:document-meta>")[0]
    return (
        f'<?xml version="1.0" encoding="UTF-8"?>\n<office:document {SPACES}><office:meta>{meta}'
        f"{STYLES}<office:body><office:{kind}>{body}</office:{kind}></office:body>"
        "</office:document>"
    ).encode()


def test_flat_open_documents() -> None:
    text = flat("text", '<text:h text:outline-level="1">Wiping</text:h><text:p>Twice.</text:p>')
    parsed = parse_bytes(text, ".fodt")
    assert (parsed.text, parsed.title) == ("# Wiping\n\nTwice.\n", "Lens Care")
    assert parsed.metadata["author"] == "Ann Lee"
    cell = "<table:table-cell><text:p>{}</text:p></table:table-cell>"
    row = f"<table:table-row>{cell.format('Item')}{cell.format('Price')}</table:table-row>"
    sheet = flat("spreadsheet", f'<table:table table:name="May">{row}{row}</table:table>')
    parsed = parse_bytes(sheet, ".fods")
    assert parsed.pages == (Page(0, 1, "May"),)
    assert "| Item | Price |" in parsed.text
    slide = flat("presentation", '<draw:page draw:name="One"><text:p>Hi</text:p></draw:page>')
    assert parse_bytes(slide, ".fodp").pages == (Page(0, 1, "One"),)


@pytest.mark.parametrize("suffix", [".svg", ".fb2", ".fodt"])
def test_hostile_files(suffix: str) -> None:
    entity = b'<!DOCTYPE a [<!ENTITY x SYSTEM "file:///etc/passwd">]><a>&x;</a>'
    deep = b"<a>" * 5000 + b"</a>" * 5000
    reasons = {}
    for name, data in {"entity": entity, "deep": deep, "torn": b"<a", "other": b"<a/>"}.items():
        with pytest.raises(IngestError) as caught:
            parse_bytes(data, suffix)
        reasons[name] = caught.value.reason
    assert reasons["entity"] == "a DOCTYPE that declares entities"
    assert reasons["deep"].startswith("damaged XML: ")
    assert reasons["torn"].startswith("damaged XML: ")
    assert reasons["other"].startswith("not a")
