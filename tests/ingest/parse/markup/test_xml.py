"""XML: documents in known vocabularies, records, and files that want to read or explode."""

from pathlib import Path

import pytest

from ragkit.errors import IngestError
from ragkit.types import ParsedText
from ragkit_ingest.parse import parse_bytes


def parse(text: str) -> ParsedText:
    return parse_bytes(text.encode(), ".xml")


def reason(data: bytes) -> str:
    with pytest.raises(IngestError) as caught:
        parse_bytes(data, ".xml")
    assert "\n" not in caught.value.reason
    return caught.value.reason


JATS = """<?xml version="1.0"?>
<!DOCTYPE article PUBLIC "-//NLM//DTD JATS" "http://127.0.0.1:1/never-loaded.dtd">
<article><front><journal-meta><issn>1234</issn></journal-meta><article-meta>
<title-group><article-title>On <i>Lenses</i></article-title></title-group>
<contrib-group><contrib><name><surname>Li</surname><given-names>Wei</given-names></name></contrib>
</contrib-group><abstract><p>Short.</p></abstract></article-meta></front>
<body><sec><title>Intro</title>
<p>Text&nbsp;with <bold>bold</bold><fn><p>A note.</p></fn> &eacute;nd.</p>
<list list-type="order"><list-item><p>one</p></list-item><list-item><p>two</p></list-item></list>
<sec><title>Sub</title><table><thead><tr><th>a</th><th>b</th></tr></thead>
<tbody><tr><td>1</td><td colspan="1">2</td></tr></tbody></table>
<preformat>x = 1
 y</preformat></sec></sec></body></article>"""


def test_a_journal_article() -> None:
    parsed = parse(JATS)
    assert parsed.text == (
        "# On Lenses\n\nLi Wei\n\nShort.\n\n## Intro\n\nText with bold[^1] énd.\n\n"
        "1. one\n2. two\n\n### Sub\n\n"
        "| a | b |\n| - | - |\n| 1 | 2 |\n\n```\nx = 1\n y\n```\n\n[^1]: A note.\n"
    )
    assert parsed.title == "On Lenses"
    assert parsed.metadata == {"author": "Li Wei"}
    assert [block.kind for block in parsed.blocks] == (
        "heading paragraph paragraph heading paragraph list heading table code paragraph".split()
    )


def test_docbook() -> None:
    parsed = parse(
        '<book xmlns="http://docbook.org/ns/docbook"><info><title>Manual</title><author><personname>'
        "<firstname>Ann</firstname><surname>Lee</surname></personname></author></info>"
        "<chapter><title>One</title><para>Use <command>ls</command>.</para><itemizedlist><listitem>"
        "<para>a</para></listitem></itemizedlist><programlisting>a\n  b</programlisting></chapter>"
        "</book>"
    )
    assert parsed.text == ("# Manual\n\nAnn Lee\n\n## One\n\nUse ls.\n\n- a\n\n```\na\n  b\n```\n")
    assert (parsed.title, parsed.metadata) == ("Manual", {"author": "Ann Lee"})


def test_any_other_file_is_records() -> None:
    parsed = parse(
        '<catalog><book id="1"><title>A &amp; B</title><price currency="EUR">3</price></book>'
        '<book id="2"><title>C <i>x</i> y</title><lines><line>1</line><line q="5"/></lines></book>'
        "</catalog>"
    )
    assert parsed.text == (
        "book (id: 1)\ntitle: A & B\nprice (currency: EUR): 3\n\n"
        "book (id: 2)\ntitle: C x y\n\nline: 1\nline (q: 5)\n"
    )
    assert [block.kind for block in parsed.blocks] == ["paragraph"] * 3


@pytest.mark.parametrize("encoding", ["gb18030", "utf-16", "utf-8-sig"])
def test_the_declared_encoding(encoding: str) -> None:
    name = encoding.removesuffix("-sig")
    text = f'<?xml version="1.0" encoding="{name}"?><记录><名称>显微镜</名称></记录>'
    assert parse_bytes(text.encode(encoding), ".xml").text == "名称: 显微镜\n"


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
def test_entities_of_its_own_are_refused(encoding: str, tmp_path: Path) -> None:
    canary = tmp_path / "canary.txt"
    canary.write_text("canary sang", encoding="utf-8")
    for declared in (
        '<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;">',
        f'<!ENTITY b SYSTEM "{canary.as_uri()}">',
        f'<!ENTITY % b SYSTEM "{canary.as_uri()}"> %b;',
    ):
        text = f'<?xml version="1.0"?><!DOCTYPE d [{declared}]><d>&b;</d>'
        message = reason(text.encode(encoding))
        assert message == "a DOCTYPE that declares entities, which are never expanded"


def test_an_external_type_and_inclusions_are_not_read(tmp_path: Path) -> None:
    canary = tmp_path / "canary.dtd"
    canary.write_text('<!ENTITY sang "canary">', encoding="utf-8")
    message = reason(f'<!DOCTYPE d SYSTEM "{canary.as_uri()}"><d>&sang;</d>'.encode())
    assert "empty" in message or "damaged" in message
    include = '<d xmlns:xi="http://www.w3.org/2001/XInclude"><t>x</t><xi:include href="{}"/></d>'
    assert "canary" not in parse(include.format(canary.as_uri())).text.replace(str(canary), "")


def test_damage_and_depth_are_named() -> None:
    assert reason(b"<a><b>x</a>").startswith("damaged XML: Opening and ending tag mismatch")
    deep = b"<a>" * 3000 + b"x" + b"</a>" * 3000
    assert reason(deep) == "elements nested deeper than 256"
    assert reason(b"<a/>") == "the file is empty: no text in it"


def test_a_large_flat_file_takes_linear_time() -> None:
    rows = "".join(f"<row><id>{n}</id><name>name {n}</name></row>" for n in range(5_000))
    parsed = parse(f"<table2>{rows}</table2>")
    assert len(parsed.blocks) == 5_000
    assert parsed.text.endswith("id: 4999\nname: name 4999\n")
