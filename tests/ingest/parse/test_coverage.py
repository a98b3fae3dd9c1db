"""Every real document is read: the share of the expected words that the stored text has.

Expectations are other programs' Markdown; its syntax, link targets, picture marks and the macros of
LaTeX formulas are no words. Run with -rP or -s to see the figures of a passing run.
"""

import html
import re
from collections import Counter
from pathlib import Path

import pytest

from ragkit.types import ParsedText
from ragkit_ingest.parse import MEDIA_TYPES, ParseOptions, parse_bytes
from tests.places import DATA

DOCUMENTS = DATA / "documents"
WANTED = {
    "md": 0.95,
    "html": 0.95,
    "docx": 0.95,
    "csv": 0.95,
    "epub": 0.95,
    "pptx": 0.90,
    "xlsx": 0.90,
    "asciidoc": 0.89,  # the other 15 of 145 words are attributes, which are not shown to a reader
}
BUDGET = 256 << 20

pytestmark = pytest.mark.skipif(
    not DOCUMENTS.is_dir(), reason=f"no test documents at {DOCUMENTS}: set RAGKIT_TEST_DATA"
)


def parse(path: Path) -> ParsedText:
    return parse_bytes(path.read_bytes(), path.suffix, ParseOptions(unzipped_bytes=BUDGET))


def words(text: str) -> Counter[str]:
    return Counter(re.findall(r"[^\W_]+", text.casefold()))


def expected_words(markdown: str) -> Counter[str]:
    text = re.sub(r"<!--.*?-->", " ", html.unescape(markdown), flags=re.DOTALL)
    text = re.sub(r"\]\([^)\s]*\)", "] ", text)
    text = re.sub(r"\$\$?[^$]+\$", lambda formula: re.sub(r"\\[a-zA-Z]+", " ", formula[0]), text)
    return words(text)


@pytest.mark.parametrize("form", sorted(WANTED))
def test_share_of_expected_words(form: str) -> None:
    wanted = found = 0
    for expectation in sorted((DOCUMENTS / "expected" / form).glob("*.md")):
        expected = expected_words(expectation.read_text(encoding="utf-8"))
        missing = expected - words(parse(DOCUMENTS / form / expectation.stem).text)
        wanted += expected.total()
        found += expected.total() - missing.total()
        share = 1 - missing.total() / max(expected.total(), 1)
        print(f"{form:5} {share:7.1%} {expectation.stem}", dict(missing.most_common(5)) or "")
    print(f"{form:5} {found / wanted:7.1%} of {wanted} words")
    assert wanted > 0
    assert found / wanted >= WANTED[form]


PATHS = [
    path
    for path in (sorted(DOCUMENTS.glob("*/*.*")) if DOCUMENTS.is_dir() else [])
    if path.parent.name != "expected" and path.suffix.lower() in MEDIA_TYPES
]


@pytest.mark.parametrize("path", PATHS, ids=lambda path: path.name)
def test_structure_lies_within_the_text(path: Path) -> None:
    parsed = parse(path)
    done = 0
    for block in parsed.blocks:
        assert done <= block.start < block.end <= len(parsed.text)
        assert parsed.text[block.start : block.end].strip()
        assert (block.kind == "heading") == (block.level > 0)
        done = block.end
    starts = [page.start for page in parsed.pages]
    assert starts == sorted(set(starts))
    assert all(start < len(parsed.text) for start in starts)
    assert parsed.blocks


PHRASES = {
    "2305.03393v1-pg9.pdf": "OTSL yields a 2x speed up in the inference runtime over HTML.",
    "multi_page.pdf": (
        "the typewriter revolutionized written communication by enabling people to produce"
        " legible, professional documents more efficiently than handwriting."
    ),
    "normal_4pages.pdf": "국내 확진자는 9,661명, 사망자는 158명으로 나타났다.",
    "right_to_left_01.pdf": "تعتبر البرمجة بلغة R و Python",
    "skipped_2pages.pdf": "Wearable Control Interfaces",
}


@pytest.mark.parametrize("name", sorted(PHRASES))
def test_phrases_of_pdfs_read_by_eye(name: str) -> None:
    assert PHRASES[name] in parse(DOCUMENTS / "pdf" / name).text


@pytest.mark.parametrize(
    ("name", "pages"),
    [("multi_page.pdf", 5), ("normal_4pages.pdf", 4), ("right_to_left_03.pdf", 1)],
)
def test_each_page_of_a_pdf_has_text(name: str, pages: int) -> None:
    parsed = parse(DOCUMENTS / "pdf" / name)
    assert [page.number for page in parsed.pages] == list(range(1, pages + 1))
