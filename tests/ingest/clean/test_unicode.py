"""Characters made uniform: what changes, what must not, and that offsets stay true."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragkit.errors import IngestError
from ragkit.types import Block, Page, ParsedText
from ragkit_ingest.clean.unicode import Form, normalised, uniform
from ragkit_ingest.parse import ParseOptions, parse_bytes
from tests.growth import grows_linearly

HARD = st.text(
    st.one_of(
        st.sampled_from(
            "eaoA한가각\u1100\u1161\u11a8\u0301\u0316\u3099か\uff76\uff9e|½²①Ａ，｜\u0b47\u0b3e"
        ),
        st.characters(exclude_categories=["Cs"]),
    ),
    max_size=30,
)


@pytest.mark.parametrize(
    ("text", "nfc"),
    [
        ("cafe\u0301", "café"),
        ("\u1112\u1161\u11ab\u1100\u1173\u11af", "한글"),
        ("\u212b and \u2126", "Å and Ω"),
        ("\uf900", "豈"),
        ("ﬁne Ａ１ m²", "ﬁne Ａ１ m²"),
        ("in\u00adfor\u00admation", "information"),
        ("zero\u200bwidth\ufeff\u2060", "zerowidth"),
        ("access\u202elevel\u202c \u2066user\u2069", "accesslevel user"),
        ("pass\u200dword 密\u200c码", "password 密码"),
        ("می\u200cخواهم", "می\u200cخواهم"),
        ("👩\u200d💻 क्\u200dष", "👩\u200d💻 क्\u200dष"),
        ("❤\ufe0f and ❤\ufe0f\ufe01\ufe02", "❤\ufe0f and ❤\ufe0f"),
        ("hi\U000e0068\U000e0069", "hi"),
        ("a\u200c\u00ad\u200cb", "ab"),
        ("de\u0301ja\u0300\u00ad vu", "déjà vu"),
    ],
)
def test_nfc_composes_and_removes_what_is_unseen(text: str, nfc: str) -> None:
    assert uniform(text, "nfc") == nfc
    assert uniform(text, "none") == text


@pytest.mark.parametrize(
    ("text", "nfkc"),
    [
        ("ＲＬ－４００ Ａ１", "RL－400 A1"),
        ("ﬁle oﬃce", "file office"),
        ("ｶﾞﾗｽ", "ガラス"),
        ("第Ⅳ章 №5 ㎏", "第IV章 No5 kg"),
        ("a\u00a0b\u3000c", "a b c"),
        ("10² m³ H₂O 1½ ①②", "10² m³ H₂O 1½ ①②"),
        ("你好，世界！（一）；", "你好，世界！（一）；"),
        ("￨ ｜ ＃ ＼ ｀ ＊", "│ ｜ ＃ ＼ ｀ ＊"),
        ("it´s ¨", "it´s ¨"),
        ("𝐀𝑥 ℝ ℃", "Ax R °C"),
        ("ﷺ", unicodedata.normalize("NFKC", "ﷺ")),
    ],
)
def test_nfkc_folds_what_does_no_harm(text: str, nfkc: str) -> None:
    assert uniform(text, "nfkc") == nfkc


def test_a_table_keeps_its_cells_under_nfkc() -> None:
    table = "| 项目 | Ａ｜Ｂ |\n| - | - |\n| Ｃ＼ | ２３ |"
    parsed = ParsedText(table, (Block(0, len(table), "table"),))
    result = normalised(parsed, "nfkc")
    assert result.text == "| 项目 | A｜B |\n| - | - |\n| C＼ | 23 |"
    assert [line.count("|") for line in result.text.split("\n")] == [3, 3, 3]


def test_blocks_pages_title_and_metadata_follow() -> None:
    text = "re\u0301sume\u0301\n\nso\u00adft e\u0301nd\n"
    parsed = ParsedText(
        text,
        (Block(0, 8, "heading", 1), Block(10, 20, "paragraph")),
        (Page(0, 1), Page(10, 2, "e\u0301")),
        title="re\u0301sume\u0301",
        metadata={"author": "Jose\u0301\u200b"},
        notes={"hidden text": 1},
    )
    result = normalised(parsed, "nfc")
    assert result.text == "résumé\n\nsoft énd\n"
    assert [result.text[b.start : b.end] for b in result.blocks] == ["résumé", "soft énd"]
    assert result.pages == (Page(0, 1), Page(8, 2, "é"))
    assert (result.title, result.metadata) == ("résumé", {"author": "José"})
    assert result.notes == {"hidden text": 1, "invisible characters": 1}
    assert normalised(parsed, "none") is parsed


@given(HARD)
def test_nfc_is_unicodes_own(text: str) -> None:
    normal = uniform(text, "nfc")
    assert unicodedata.is_normalized("NFC", normal)
    if not any(unicodedata.category(char) in {"Cf", "Mn"} for char in text):
        assert normal == unicodedata.normalize("NFC", text)


@pytest.mark.parametrize("form", ["nfc", "nfkc"])
@given(text=HARD)
def test_twice_is_once_and_lines_stay_lines(form: Form, text: str) -> None:
    once = uniform(text, form)
    assert uniform(once, form) == once
    assert once.count("\n") == text.count("\n")
    assert unicodedata.is_normalized("NFC", once)


@pytest.mark.parametrize("form", ["nfc", "nfkc"])
@given(parts=st.lists(HARD.filter(str.strip), min_size=1, max_size=4))
def test_each_block_becomes_what_its_own_text_becomes(form: Form, parts: list[str]) -> None:
    text, blocks = "", []
    for part in parts:
        blocks.append(Block(len(text), len(text) + len(part), "paragraph"))
        text += part + "\n\n"
    result = normalised(ParsedText(text, tuple(blocks)), form)
    texts = [result.text[block.start : block.end] for block in result.blocks]
    assert texts == [
        normal for part in parts if (normal := uniform(part, form)).strip() or normal == part
    ]


def test_text_of_nothing_but_unseen_characters_is_no_text() -> None:
    with pytest.raises(IngestError, match="empty"):
        parse_bytes("\u200b\u00ad\n".encode(), ".txt")
    parsed = parse_bytes("\u200b\u00ad\n".encode(), ".txt", ParseOptions(unicode="none"))
    assert parsed.text == "\u200b\u00ad\n"


def test_more_marks_than_a_character_can_have_cost_no_more_than_others() -> None:
    """Putting marks in order takes time with the square of a run's length: such a run stays."""

    def work(marks: int) -> None:
        run = "a" + "\u0301\u0316" * (marks // 2)
        assert uniform(run, "nfc") == run

    assert grows_linearly(work, 32_000)
    assert uniform("a" + "\u0316\u0301" * 3, "nfc") == unicodedata.normalize(
        "NFC", "a" + "\u0316\u0301" * 3
    )


@pytest.mark.parametrize("at", [-2, -1, 0, 1])
def test_a_stretch_across_the_slices_of_a_long_text_is_composed(at: int) -> None:
    lead = "x" * ((1 << 20) + at - 1)
    assert uniform(f"{lead}e\u0301\u0323 \u0301y", "nfc") == f"{lead}ẹ\u0301 \u0301y"
    assert uniform(f"{lead}ｶﾞｷﾞ", "nfkc") == f"{lead}ガギ"
