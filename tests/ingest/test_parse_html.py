"""HTML: structure as Markdown, tables, hidden text, charsets, hostile nesting."""

import time

import pytest

from ragkit.types import ParsedText
from ragkit_ingest.parse import ParseOptions, parse_bytes


def parse(html: str | bytes) -> ParsedText:
    data = html.encode() if isinstance(html, str) else html
    return parse_bytes(data, ".html", ParseOptions(unzipped_bytes=1 << 20))


def test_a_page_becomes_markdown() -> None:
    parsed = parse(
        """<!DOCTYPE html><html><head><title>Leave
        rules</title><style>p {}</style><script>var x = "<p>no</p>";</script></head><body>
        <h1>Leave <em>rules</em></h1><p>Everyone has
        <a href="/x">25&nbsp;days</a>.<br>Ask early.</p>
        <ul><li>one<ol start=3><li>three</li><li>four</li></ol></li>
        <li><p>two</p><p>more</p></li></ul>
        <pre>a  b
  c</pre><noscript>no</noscript><template>no</template><!-- no -->
        <h2></h2>tail &lt;b&gt; &copy;</body></html>"""
    )
    assert parsed.title == "Leave rules"
    assert parsed.text == (
        "# Leave rules\n\nEveryone has 25 days.\nAsk early.\n\n"
        "- one\n  3. three\n  4. four\n- two\n  more\n\n"
        "```\na  b\n  c\n```\n\ntail <b> ©\n"
    )
    assert [(b.kind, b.level) for b in parsed.blocks] == [
        ("heading", 1),
        ("paragraph", 0),
        ("list", 0),
        ("code", 0),
        ("paragraph", 0),
    ]


def test_hidden_text_is_left_out() -> None:
    parsed = parse(
        '<p>a</p><div hidden>b<br>b<p>b</div><p style="color:red; Display : NONE">c</p>'
        '<span style="visibility:hidden">d</span><i aria-hidden="true">e</i><p>f'
    )
    assert parsed.text == "a\n\ne\n\nf\n"


def test_a_table_is_one_block_with_spans_repeated() -> None:
    parsed = parse(
        """before<table><caption>Prices</caption><thead><tr><th>Item<th colspan=2>Price</thead>
        <tr><td rowspan=2>Lens | cap<td>5<td>EUR<tr><td>6<td>USD
        <tr><td colspan=3>All prices with tax
        <tr><td><ul><li>x<li>y</ul><td><table><tr><td>in<td>ner</table><td></table>after"""
    )
    assert parsed.text == (
        "before\n\nPrices\n\n"
        "| Item | Price | Price |\n| - | - | - |\n| Lens \\| cap | 5 | EUR |\n"
        "| Lens \\| cap | 6 | USD |\n| All prices with tax |  |  |\n| - x - y | in ner |  |\n\n"
        "after\n"
    )
    assert [b.kind for b in parsed.blocks] == ["paragraph", "paragraph", "table", "paragraph"]


def test_a_table_that_lays_out_the_page_is_no_table() -> None:
    parsed = parse(
        "<table><tr><td><h1>Title</h1><td><p>Text<table><tr><th>a<th>b<tr><td>1<td>2</table>"
        "</table>"
    )
    assert parsed.text == "# Title\n\nText\n\n| a | b |\n| - | - |\n| 1 | 2 |\n"


def test_lines_of_chinese_source_join_without_a_space() -> None:
    assert parse("<p>年假为\n   十五天，\n须申请 RL\n400").text == "年假为十五天，须申请 RL 400\n"


@pytest.mark.parametrize(
    ("declared", "encoding", "text"),
    [
        ('<meta charset="gb2312">', "gb18030", "镕基與體"),
        ('<meta http-equiv="Content-Type" content="text/html; charset=big5">', "big5", "機房溫度"),
        ('<?xml version="1.0" encoding="gbk"?>', "gbk", "机房"),
        ('<meta charset="utf-8">', "gb18030", "请妥善保管发票和合同"),  # a lie
        ('<meta charset="klingon">', "utf-8", "机房"),
        ('<meta charset="shift_jis">', "shift_jis", "日本語です"),
        ('<meta charset="zip">', "utf-8", "机房"),
        ("", "utf-16", "机房 room"),
    ],
)
def test_the_pages_own_charset_is_honoured(declared: str, encoding: str, text: str) -> None:
    assert parse(f"{declared}<p>{text}</p>".encode(encoding)).text == f"{text}\n"


@pytest.mark.parametrize(
    "html",
    [
        "<div>" * 100_000 + "deep",
        "<ul><li>x" * 20_000 + "deep",
        "<table><tr><td>x" * 20_000 + "deep",
        "<table>" + "<tr><th colspan=1000 rowspan=60000>x" * 300 + "</table>deep",
        "<b>" * 100_000 + "deep",
        '<!DOCTYPE x [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;">]><p>&b;</p>deep',
        "<a " + "x=1 " * 200_000 + ">deep",
        "<p>" + "&amp" * 200_000 + " deep",
    ],
)
def test_hostile_markup_is_read_to_its_end(html: str) -> None:
    started = time.perf_counter()
    parsed = parse(html)
    assert parsed.text.endswith("deep\n")
    assert len(parsed.text) < 5_000_000
    assert time.perf_counter() - started < 20
