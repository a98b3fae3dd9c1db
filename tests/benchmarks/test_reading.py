"""The benchmark of reading: its sides, the documents that it prints, and the rows of its tables."""

from pathlib import Path

from benchmarks.peers.reading_peers import SIDES, _answer, _pipe_table, _with_marks
from benchmarks.reading import ENVIRONMENTS, READS, Answer, _rate, _row
from benchmarks.reading_files import BARE, ONE, TWO, Document, _page, is_printed
from benchmarks.reading_markdown import read_markdown
from benchmarks.reading_measures import Scores, failure
from tests.places import ROOT


def _document(markdown: str, kind: str = "html") -> Document:
    return Document(kind, Path("ducks.html"), markdown, read_markdown(markdown))


def test_no_side_is_without_its_program_and_its_list() -> None:
    assert set(READS) == set(SIDES)
    for side in set(READS) - {"ragkit"}:
        assert (ROOT / f"benchmarks/peers/{ENVIRONMENTS.get(side, side)}.txt").is_file()


def test_a_library_that_raises_or_gives_nothing_failed() -> None:
    def broken(_: Path) -> tuple[str, str]:
        raise ValueError("no such format")

    assert _answer(broken, Path("a.pdf"))["error"] == "ValueError: no such format"
    assert _answer(lambda _: (" \n", ""), Path("a.pdf"))["error"] == "no text"
    assert _answer(lambda path: (path.name, ""), Path("a.pdf"))["error"] == ""


def test_headings_that_stand_beside_the_text_are_marked_in_it() -> None:
    text = "Ducks\n\n## Ponds\n\nLakes\n"
    assert _with_marks(text, {0: 1, 7: 2, 17: 3}) == "# Ducks\n\n## Ponds\n\n### Lakes\n"


def test_cells_of_a_peer_become_a_table_in_markdown() -> None:
    tables = read_markdown(_pipe_table([["a", None], ["b\nc", "1|2"]])).tables
    assert tables == (((("a",), ()), (("b", "c"), ("1", "2"))),)


def test_short_texts_and_formulas_are_not_printed() -> None:
    assert is_printed(_document("duck " * 30), ONE)
    assert not is_printed(_document("duck " * 29), ONE)
    assert not is_printed(_document("duck " * 30 + "$$x$$"), ONE)
    assert not is_printed(_document("duck " * 30, "epub"), ONE)


def test_wide_tables_are_not_printed_in_two_columns_and_texts_not_for_their_rules() -> None:
    words = "duck " * 30
    narrow, wide = (f"{words}\n\n{'| a ' * n}|\n{'| - ' * n}|\n{'| b ' * n}|\n" for n in (4, 5))
    printed = {
        text: [is_printed(_document(text), layout) for layout in (ONE, TWO, BARE)]
        for text in (words, narrow, wide)
    }
    assert printed[words] == [True, True, False]
    assert printed[narrow] == [True, True, True]
    assert printed[wide] == [True, False, True]


def test_a_page_shows_the_headings_and_tables_of_the_markdown() -> None:
    page = _page("# A < B\n\n| a | b |\n| - | - |\n| c | ~~d~~ |\n", "td { color: red }")
    assert "<h1>A &lt; B</h1>" in page
    assert "<th>a</th>" in page
    assert "td { color: red }" in page
    reading, expected = read_markdown(page), read_markdown("# A < B\n\na b c d")
    assert reading.headings == expected.headings
    assert reading.words[-4:] == expected.words[-4:]


def test_a_row_counts_a_failed_file_in_its_means_and_not_in_its_speed() -> None:
    document = _document("# Ducks")
    answers = [
        Answer(document, Scores(recall=1, precision=1, order=1), (0.1, 0.3, 0.2), ""),
        Answer(document, failure(document.expected), (), "no text"),
    ]
    assert _rate(answers) == "5"
    row = "| html: 2 | peer | 0.500 / 0.500 | 0.500 | – / – | 0.000 / – | 1 | 5 |"
    assert _row("html: 2", "peer", answers) == row
    assert _rate(answers[1:]) == "–"
