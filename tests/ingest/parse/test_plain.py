"""Plain text and Markdown: encodings, blocks over the source, front matter, speed on long lines."""

import codecs
import importlib
import tracemalloc

import pytest

from ragkit.errors import IngestError
from ragkit.types import ParsedText
from ragkit_ingest.parse import MEDIA_TYPES, ParseOptions, parse_bytes
from ragkit_ingest.parse.formats import MODULES
from tests.growth import grows_linearly

SIMPLIFIED = [
    "今天下午三点开会。",
    "年假为十五天，须提前两周申请。",
    "机房温度应保持在十八至二十七度",
    "请妥善保管发票",
]
TRADITIONAL = [
    "今天下午三點開會。",
    "年假為十五天，須提前兩週申請。",
    "機房溫度應保持在十八至二十七度",
    "請妥善保管發票",
]
LONG_SIMPLIFIED = (
    "设备到货后，由仓库管理员会同质检人员开箱验收，核对型号、数量和随机文件。"
    "发现外包装破损的，应当场拍照，并在四十八小时内通知供应商。\nModel RL-400：12 台\n"
)
LONG_TRADITIONAL = (
    "設備到貨後，由倉庫管理員會同質檢人員開箱驗收，核對型號、數量和隨機文件。"
    "發現外包裝破損的，應當場拍照，並在四十八小時內通知供應商。\nModel RL-400：12 台\n"
)


def parse(data: bytes, suffix: str = ".txt") -> ParsedText:
    return parse_bytes(data, suffix, ParseOptions(unzipped_bytes=1 << 20))


def blocks(parsed: ParsedText) -> list[tuple[str, int, str]]:
    return [(b.kind, b.level, parsed.text[b.start : b.end]) for b in parsed.blocks]


@pytest.mark.parametrize("module", sorted(set(MODULES.values())))
def test_every_format_has_a_module_that_parses(module: str) -> None:
    name, _, language = module.partition(":")
    parser = importlib.import_module(f"ragkit_ingest.parse.{name}")
    assert callable(parser.LANGUAGES[language].parse if language else parser.parse)


def test_suffixes_are_lower_case_and_have_a_media_type() -> None:
    assert MEDIA_TYPES.keys() == MODULES.keys()
    assert all(suffix.startswith(".") and suffix == suffix.lower() for suffix in MODULES)
    assert all(media_type.count("/") == 1 for media_type in MEDIA_TYPES.values())
    assert MEDIA_TYPES[".md"] == "text/markdown"


@pytest.mark.parametrize("encoding", ["utf-8", "gb18030", "utf-16-le", "utf-16-be"])
@pytest.mark.parametrize("text", [*SIMPLIFIED, LONG_SIMPLIFIED, LONG_SIMPLIFIED * 2000])
def test_simplified_chinese_in_any_encoding(text: str, encoding: str) -> None:
    assert parse(text.encode(encoding)).text == text


@pytest.mark.parametrize("encoding", ["utf-8", "big5", "gb18030", "utf-16-le", "utf-16-be"])
@pytest.mark.parametrize("text", [*TRADITIONAL, LONG_TRADITIONAL, LONG_TRADITIONAL * 2000])
def test_traditional_chinese_in_any_encoding(text: str, encoding: str) -> None:
    assert parse(text.encode(encoding)).text == text


@pytest.mark.parametrize(
    ("bom", "encoding"),
    [
        (codecs.BOM_UTF8, "utf-8"),
        (codecs.BOM_UTF16_LE, "utf-16-le"),
        (codecs.BOM_UTF16_BE, "utf-16-be"),
        (codecs.BOM_UTF32_LE, "utf-32-le"),
    ],
)
def test_a_byte_order_mark_decides(bom: bytes, encoding: str) -> None:
    assert parse(bom + "甲乙丙丁".encode(encoding)).text == "甲乙丙丁"


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be", "utf-8", "cp1252"])
def test_western_text(encoding: str) -> None:
    text = "The café’s menu: crème brûlée for £5 – naïve, but good."
    assert parse(text.encode(encoding)).text == text


@pytest.mark.parametrize("text", ["Müller", "élève", "Ça été", "Größe 50 °C", "São Paulo"])
def test_short_western_text_is_not_taken_for_chinese(text: str) -> None:
    assert parse(text.encode("cp1252")).text == text


def test_a_damaged_byte_in_utf8_costs_one_character() -> None:
    data = ("会议记录" * 50).encode() + b"\xe4\xbd" + "结束".encode()
    assert parse(data).text == "会议记录" * 50 + "\ufffd结束"


def test_text_cut_inside_a_character_of_the_sample_is_still_read() -> None:
    text = "a" + "中文资料" * 20_000  # two-byte characters lie across the sample's end
    assert parse(text.encode("gb18030")).text == text


@pytest.mark.parametrize(
    "data",
    [
        bytes(range(256)) * 8,
        b"\x89PNG\r\n\x1a\n" + bytes(64),
        b"PK\x03\x04rest",
        b"\x7fELF\x02\x01\x01" + bytes(200),
        bytes([0, 1, 2, 3, 4, 5, 6, 7]),
    ],
)
def test_binary_data_is_refused(data: bytes) -> None:
    with pytest.raises(IngestError, match="binary, not text"):
        parse(data)


@pytest.mark.parametrize("suffix", [".txt", ".md", ".html", ".csv", ".json"])
@pytest.mark.parametrize("data", [b"", b" \r\n\t\n", codecs.BOM_UTF8])
def test_nothing_but_white_space_is_empty(data: bytes, suffix: str) -> None:
    with pytest.raises(IngestError, match="the file is empty"):
        parse(data, suffix)


def test_an_unknown_suffix_is_named() -> None:
    with pytest.raises(IngestError, match=r"no parser for \.xyz"):
        parse(b"a", ".xyz")


def test_plain_text_is_paragraphs_with_clean_line_ends() -> None:
    parsed = parse(b"One\r\ntwo\r\n\r\n \r\n  Three\x00\r\n")
    assert parsed.text == "One\ntwo\n\n \n  Three\ufffd\n"
    assert blocks(parsed) == [("paragraph", 0, "One\ntwo"), ("paragraph", 0, "Three\ufffd")]


def test_markdown_blocks_lie_over_the_source() -> None:
    source = """\
# Leave

Everyone has 25 days.
Ask early.

Carry over
----------
- five days
- not more

  by March

1. one
2. two

after

| a | b |
|---|---|
| 1 | 2 |

x | y
--|--
1 | 2

```python
# no heading

pass
```

    indented

***
<table>
<tr><td>

a</td></tr>
</table>
#hashtag
## 第二章 ##
"""
    parsed = parse(source.encode(), ".MD")
    assert parsed.text == source
    assert blocks(parsed) == [
        ("heading", 1, "# Leave"),
        ("paragraph", 0, "Everyone has 25 days.\nAsk early."),
        ("heading", 2, "Carry over"),
        ("list", 0, "- five days\n- not more\n\n  by March\n\n1. one\n2. two"),
        ("paragraph", 0, "after"),
        ("table", 0, "| a | b |\n|---|---|\n| 1 | 2 |"),
        ("table", 0, "x | y\n--|--\n1 | 2"),
        ("code", 0, "```python\n# no heading\n\npass\n```"),
        ("code", 0, "    indented"),
        ("table", 0, "<table>\n<tr><td>\n\na</td></tr>\n</table>"),
        ("paragraph", 0, "#hashtag"),
        ("heading", 2, "## 第二章 ##"),
    ]


def test_an_open_fence_reaches_the_end() -> None:
    assert blocks(parse(b"~~~\n# x\n```\n\n", ".md")) == [("code", 0, "~~~\n# x\n```")]


def test_front_matter_becomes_metadata() -> None:
    source = '---\ntitle: "Leave: the rules"\ntags:\n  - hr\n  - leave\ndraft:\n---\n\n# Leave\n'
    parsed = parse(source.encode(), ".md")
    assert parsed.title == "Leave: the rules"
    assert parsed.metadata == {"tags": "hr, leave"}
    assert parsed.text == "# Leave\n"


@pytest.mark.parametrize(
    "source",
    ["---\n\nJust a rule.\n\n---\nMore.\n", "---\nNo end: here\n", "Text\n---\na: b\n---\n"],
)
def test_what_only_looks_like_front_matter_stays(source: str) -> None:
    parsed = parse(source.encode(), ".md")
    assert parsed.text == source
    assert parsed.metadata == {}


@pytest.mark.parametrize("suffix", [".txt", ".md", ".html", ".csv"])
@pytest.mark.parametrize("unit", ["中文", "- ", "|-", "`", "#", "<", "a\n", "\n x", "=-", "\\"])
def test_anything_repeated_takes_linear_time(unit: str, suffix: str) -> None:
    def read(size: int) -> None:
        assert parse(("x " + unit * (size // len(unit.encode()))).encode(), suffix).text.strip()

    assert grows_linearly(read, 150_000)


def test_a_row_of_a_million_columns_is_refused() -> None:
    with pytest.raises(IngestError, match="a table of 1,000,001 columns"):
        parse(b"x " + b"|-" * 1_000_000, ".csv")


@pytest.mark.parametrize("suffix", [".txt", ".md", ".html"])
def test_one_line_of_ten_megabytes(suffix: str) -> None:
    parsed = parse(b"word " * 2_000_000, suffix)
    assert len(parsed.text) >= 9_999_999
    assert [b.kind for b in parsed.blocks] == ["paragraph"]


@pytest.mark.parametrize(
    ("text", "encoding"),
    [
        ("x" * 1000, "ascii"),
        ("x\r\n" * 500, "ascii"),  # a line end is one character
        ("x" * 1000, "utf-16-le"),
        ("字" * 1000, "utf-8"),
        ("文件" * 500, "gb18030"),
    ],
)
def test_a_text_as_long_as_it_may_be_is_read(text: str, encoding: str) -> None:
    options = ParseOptions(text_chars=1000)
    assert len(parse_bytes(text.encode(encoding), ".txt", options).text) == 1000
    with pytest.raises(IngestError, match=r"more than 0\.001 million characters"):
        parse_bytes((text + text[0]).encode(encoding), ".txt", options)


def test_a_text_too_long_is_refused_before_it_takes_memory() -> None:
    data = b"word " * 400_000
    tracemalloc.start()
    try:
        with pytest.raises(IngestError, match="more than 1 million characters"):
            parse_bytes(data, ".txt", ParseOptions(text_chars=1_000_000))
        assert tracemalloc.get_traced_memory()[1] < len(data)
    finally:
        tracemalloc.stop()
