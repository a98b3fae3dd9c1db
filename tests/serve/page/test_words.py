"""Both languages say the same things, and a browser gets the one that it asks for."""

import re
from pathlib import Path

import pytest

from ragkit_serve.page import words
from ragkit_serve.page.words import WORDS, Language, language_of

UI = Path(words.__file__).parent


def test_both_tables_have_the_same_keys() -> None:
    assert WORDS["en"].keys() == WORDS["zh"].keys()


def test_both_tables_leave_the_same_blanks() -> None:
    for key, english in WORDS["en"].items():
        blanks = sorted(re.findall(r"{\w+}", english))
        assert sorted(re.findall(r"{\w+}", WORDS["zh"][key])) == blanks, key


def test_no_chinese_word_is_left_in_english() -> None:
    for key, chinese in WORDS["zh"].items():
        assert re.search("[\u4e00-\u9fff]", chinese), key


def test_every_word_is_used_and_every_used_word_is_there() -> None:
    sources = [path for path in UI.rglob("*") if path.suffix in {".py", ".js"}]
    code = "\n".join(path.read_text() for path in sources if not path.name.startswith("words"))
    made = (
        "mode_",
        "stage_",
        "state_",
        "column_",
        "export_",
        "claim_",
        "mark_",
        "error_",
        "type_",
        "fact_",
    )  # by putting parts together
    unused = [
        key
        for key in WORDS["en"]
        if not key.startswith(made) and not re.search(rf"[\"'.]{key}\b", code)
    ]
    assert unused == []
    asked = re.findall(r"words\[\"(\w+)\"\]", code) + re.findall(r"\bwords\.(\w+)", code)
    functions = {"format", "get", "js", "py"}
    assert {key for key in asked if key not in functions} <= WORDS["en"].keys()


@pytest.mark.parametrize(
    ("header", "language"),
    [
        ("", "en"),
        ("zh", "zh"),
        ("zh-CN,zh;q=0.9,en;q=0.8", "zh"),
        ("zh-Hant-TW", "zh"),
        ("en-GB,en;q=0.9,zh;q=0.8", "en"),
        ("de,fr;q=0.9", "en"),
        ("de, zh;q=0.3, en;q=0.2", "zh"),
        ("zh;q=0", "en"),
        ("zh;q=nonsense", "en"),
        (";;;,,q=1", "en"),
        ("*", "en"),
    ],
)
def test_the_language_that_is_liked_best(header: str, language: Language) -> None:
    assert language_of(header) == language
