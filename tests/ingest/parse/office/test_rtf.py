"""Rich Text: structure, code pages and Unicode, what is left out, files that are damaged."""

import pytest

from ragkit.errors import IngestError
from ragkit.types import ParsedText
from ragkit_ingest.parse import ParseOptions, parse_bytes

FONTS = (
    r"{\fonttbl{\f0\fnil Times;}{\f1\fcharset134 SimSun;}{\f2\fcharset204 Arial;}"
    r"{\f3\fcharset128 MS Gothic;}}"
)


def parse(body: str, *, head: str = r"\ansi\ansicpg1252", **options: str) -> ParsedText:
    source = f"{{\\rtf1{head}{FONTS}{body}}}".encode("latin-1")
    return parse_bytes(source, ".rtf", ParseOptions(**options))  # type: ignore[arg-type]


def escaped(text: str, codec: str) -> str:
    return "".join(f"\\'{byte:02x}" for byte in text.encode(codec))


def test_a_document_in_order() -> None:
    parsed = parse(
        r"{\colortbl;\red9\green0\blue0;}{\stylesheet{\s0 Normal;}{\s1\outlinelevel0 Top;}"
        r"{\s2\sbasedon0\fs28 Heading 2;}}"
        r"{\info{\title Lens Care}{\author Ann Lee}{\creatim\yr2026\mo2}}"
        r"\pard\s1 Wiping\par\pard\s2 How\par\pard Use a {\b soft} cloth.\line Twice.\par"
        r"{\listtext 1.\tab}First{\footnote\pard Softly.}\par{\listtext\'b7\tab}Then\par"
        r"\trowd\cellx1\cellx2\pard\intbl Item\cell Price\cell\row\intbl Cloth\cell 5\cell\row\pard"
        r"{\field{\*\fldinst HYPERLINK " + '"http://x"' + r"}{\fldrslt The page}} \emdash  end"
    )
    assert parsed.text == (
        "# Wiping\n\n## How\n\nUse a soft cloth.\nTwice.\n\n1. First[^1]\n- Then\n\n"
        "| Item | Price |\n| - | - |\n| Cloth | 5 |\n\nThe page — end\n\n[^1]: Softly.\n"
    )
    assert (parsed.title, parsed.metadata) == ("Lens Care", {"author": "Ann Lee"})


@pytest.mark.parametrize(
    ("text", "codec", "page", "font"),
    [
        ("请妥善保管发票", "gbk", 936, r"\f0 "),
        ("請妥善保管發票", "big5", 950, r"\f0 "),
        ("請妥善保管發票", "big5", 950, ""),
        ("请妥善保管发票", "gbk", 1252, r"\f1 "),
        ("Протокол", "cp1251", 1252, r"\f2 "),
        ("領収書", "cp932", 1252, r"\f3 "),
        ("Größe – café", "cp1252", 1252, r"\f0 "),
        ("Größe", "mac_roman", 10000, r"\f0 "),
    ],
)
def test_code_pages_of_the_document_and_of_fonts(
    text: str, codec: str, page: int, font: str
) -> None:
    head = rf"\ansi\ansicpg{page}\deff0"
    assert parse(f"{font}{escaped(text, codec)} x", head=head).text == f"{text} x\n"


def test_a_second_byte_may_be_written_as_it_is() -> None:
    first, second = "能".encode("big5")
    assert parse(f"\\'{first:02x}{chr(second)}", head=r"\ansi\ansicpg950").text == "能\n"


@pytest.mark.parametrize(
    ("source", "text"),
    [
        (r"caf\u233 ?s", "cafés"),
        (r"\uc0 caf\u233s", "cafés"),
        (r"\uc2 caf\u233\'a8\'a6s", "cafés"),
        (r"{\uc0 \u27721}\u23383?", "汉字"),
        (r"\u-10179?\u-8704?", "😀"),
    ],
)
def test_characters_in_unicode(source: str, text: str) -> None:
    assert parse(source).text == text + "\n"


def test_what_is_left_out() -> None:
    parsed = parse(
        r"{\*\generator Secret;}{\header Secret}{\footerf Secret}{\pict\bin6 {}}}}}Secret}"
        r"{\v Secret}{\deleted Secret}{\*\annotation Secret}{\object{\*\objdata 00}{\result Shown}}"
        r"{\*\unknown{\b Secret}}{\xe Secret}."
    )
    assert parsed.text == "Shown.\n"
    assert parsed.notes == {"hidden text": 1, "tracked changes": 1, "comments": 1}
    change = r"a{\deleted old}{\revised new}"
    assert parse(change).text == "anew\n"
    assert parse(change, revisions="original").text == "aold\n"
    assert parse(change, revisions="both").text == "aoldnew\n"


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"hello", "not a Rich Text file, as its name says"),
        (b"{\\rtf1" + b"{" * 3000, "groups nested deeper than 2,000"),
        (b"{\\rtf1 {\\fonttbl", "the file is empty: no text in it"),
        (b"{\\rtf1 \\bin9999999999 x", "the file is empty: no text in it"),
    ],
)
def test_files_that_are_none_or_hostile(data: bytes, reason: str) -> None:
    with pytest.raises(IngestError) as caught:
        parse_bytes(data, ".rtf")
    assert caught.value.reason == reason


def test_a_file_that_is_cut_off_gives_what_it_has() -> None:
    whole = rb"{\rtf1\ansi one\par {\footnote two}{\b three\'e9\u233?\trowd\cell four"
    for size in range(18, len(whole)):
        assert parse_bytes(whole[:size], ".rtf").text.startswith("one")
    assert "four" in parse_bytes(whole, ".rtf").text
