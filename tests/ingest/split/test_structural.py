"""Chunks on small texts, by eye. A word is a token here, so that the sizes can be read off."""

import re
from collections.abc import Sequence

import pytest

from ragkit.errors import SettingsError
from ragkit.types import Block, Chunk, Page, ParsedText, Span
from ragkit_ingest.split.sizes import Sizes, default_sizes
from ragkit_ingest.split.structural import Structural


def words(text: str) -> Sequence[Span]:
    """One token per word, mark or Han character."""
    return [Span(*m.span()) for m in re.finditer(r"[一-鿿]|[^\W一-鿿]+|[^\w\s]", text)]


def cut(parsed: ParsedText, size: int = 16, overlap: int = 0) -> list[str]:
    return [parsed.text[c.start : c.end] for c in chunks(parsed, size, overlap)]


def chunks(parsed: ParsedText, size: int = 16, overlap: int = 0) -> tuple[Chunk, ...]:
    return Structural(words, Sizes(size, overlap)).split(parsed, words(parsed.text))


def markdown(text: str) -> ParsedText:
    """Blocks of a tiny Markdown: headings, tables and the paragraphs between blank lines."""
    blocks: list[Block] = []
    for match in re.finditer(r"\S(?:.|\n(?!\n))*", text):
        start, end, piece = match.start(), match.end(), match.group()
        if piece.startswith("#"):
            level = len(piece) - len(piece.lstrip("#"))
            blocks.append(Block(start, end, "heading", level))
        else:
            blocks.append(Block(start, end, "table" if piece.startswith("|") else "paragraph"))
    return ParsedText(text, tuple(blocks))


@pytest.mark.parametrize("text", ["", "   ", " \n\n\t "])
def test_white_space_has_no_chunks(text: str) -> None:
    assert cut(ParsedText(text)) == []


def test_a_short_text_is_one_trimmed_chunk() -> None:
    assert chunks(ParsedText("  One two.\n\nThree.\n")) == (Chunk(0, 2, 18, 5, None, ()),)


def test_paragraphs_are_packed_together_and_cut_between() -> None:
    first, second, third = "a b c d e f.", "g h i j k l.", "m n o p q r."
    assert cut(ParsedText(f"{first}\n\n{second}\n\n{third}")) == [f"{first}\n\n{second}", third]


def test_sentences_are_kept_whole() -> None:
    text = "a b c d e f g h i. j k l m n o. p q r s t u."
    assert cut(ParsedText(text)) == ["a b c d e f g h i.", "j k l m n o. p q r s t u."]


def test_chinese_sentences_are_kept_whole() -> None:
    text = "北京是中国的首都城市。上海在长江的入海口上！广州在南方。"
    assert cut(ParsedText(text)) == [
        "北京是中国的首都城市。",
        "上海在长江的入海口上！",
        "广州在南方。",
    ]


def test_a_long_sentence_is_cut_at_clauses() -> None:
    assert cut(ParsedText("aa bb cc dd ee ff gg hh, ii jj kk ll mm nn oo pp qq rr ss")) == [
        "aa bb cc dd ee ff gg hh,",
        "ii jj kk ll mm nn oo pp qq rr ss",
    ]
    assert cut(ParsedText("春天来了花都开了；夏天来了，天气很热秋天来了")) == [
        "春天来了花都开了；",
        "夏天来了，天气很热秋天来了",
    ]


def test_words_are_cut_apart_only_without_white_space() -> None:
    assert cut(ParsedText("w " * 20)) == ["w " * 15 + "w", "w w w w"]
    assert cut(ParsedText("中" * 18)) == ["中" * 14, "中" * 4]


def test_no_crumb_is_left_over() -> None:
    assert [c.tokens for c in chunks(ParsedText("w " * 17))] == [13, 4]


def test_overlap_repeats_whole_sentences() -> None:
    text = "a b c d e f g h. i j k. l m n o p q r s t. u v w."
    assert cut(ParsedText(text), overlap=4) == [
        "a b c d e f g h. i j k.",
        "i j k. l m n o p q r s t.",
        "u v w.",
    ]


def test_overlap_within_a_sentence_repeats_words() -> None:
    assert cut(ParsedText("a1 " * 16 + "b1 " * 8), overlap=3)[1] == "a1 a1 " + "b1 " * 7 + "b1"


def test_a_section_begins_a_chunk_and_carries_its_path() -> None:
    parsed = markdown("# Guide\n\nx x x.\n\n## Hours ##\n\ny y y.\n\n## Rooms\n\nz z z.")
    assert [(parsed.text[c.start : c.end], c.headings) for c in chunks(parsed)] == [
        ("# Guide\n\nx x x.", ("Guide",)),
        ("## Hours ##\n\ny y y.", ("Guide", "Hours")),
        ("## Rooms\n\nz z z.", ("Guide", "Rooms")),
    ]


def test_bare_headings_go_with_the_text_below() -> None:
    parsed = markdown("# A\n\n## B\n\n### C\n\n" + "w " * 20)
    pieces = chunks(parsed)
    assert pieces[0].start == 0
    assert parsed.text[pieces[0].start : pieces[0].end].endswith("w w w w")
    assert [c.headings for c in pieces] == [("A", "B", "C")] * 2


def test_tiny_sections_are_joined_under_the_headings_they_share() -> None:
    parsed = markdown("# A\n\n## B\n\nb\n\n## C\n\nc")
    assert [(c.start, c.end, c.headings) for c in chunks(parsed, size=80)] == [
        (0, len(parsed.text), ("A",))
    ]


def test_no_overlap_across_headings() -> None:
    parsed = markdown("# A\n\na a a. b b b.\n\n# B\n\nc c c c c c c c c.")
    assert cut(parsed, overlap=4) == ["# A\n\na a a. b b b.", "# B\n\nc c c c c c c c c."]


def test_a_table_that_fits_stays_whole() -> None:
    table = "| a | b |\n| c | d |"
    assert cut(markdown(f"w w w w w w w.\n\n{table}"), overlap=4) == ["w w w w w w w.", table]


def test_a_larger_table_is_cut_at_rows() -> None:
    rows = [f"| a{n} | b{n} |" for n in range(5)]
    assert cut(markdown("\n".join(rows)), overlap=4) == [
        "\n".join(rows[:3]),
        "\n".join(rows[3:]),
    ]


def test_code_is_cut_at_lines() -> None:
    lines = [f"call.me({n}); then()" for n in range(4)]
    text = "\n".join(lines)
    parsed = ParsedText(text, (Block(0, len(text), "code"),))
    assert cut(parsed, 24) == ["\n".join(lines[:2]), "\n".join(lines[2:])]


def test_page_is_where_the_chunk_begins() -> None:
    text = "a " * 12 + "b " * 12
    pieces = chunks(ParsedText(text, pages=(Page(0, 1), Page(24, 2))))
    assert [(text[c.start], c.page) for c in pieces] == [("a", 1), ("b", 2)]


def test_before_the_first_page_there_is_none() -> None:
    assert chunks(ParsedText("a", pages=(Page(1, 1),)))[0].page is None


@pytest.mark.parametrize(("size", "overlap"), [(4, 0), (16, 9), (16, -1)])
def test_sizes_that_make_no_sense_are_refused(size: int, overlap: int) -> None:
    with pytest.raises(SettingsError, match="make no sense"):
        chunks(ParsedText("a"), size, overlap)


def test_default_sizes_stay_under_the_model_limit() -> None:
    assert default_sizes(254) == (254, 25)
    assert default_sizes(8190) == (512, 51)
