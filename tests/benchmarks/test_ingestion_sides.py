"""What the ingestion benchmarks count by: ratios of rounds, and pieces that lose no text."""

from benchmarks.ingestion_files import _page, _pieces
from benchmarks.ingestion_sides import Result, median, ratios
from benchmarks.peers.side import texts_and_origins
from tests.places import ROOT


def _seconds(*values: float) -> list[Result]:
    return [{"seconds": value} for value in values]


def test_each_round_is_compared_with_its_fastest_peer() -> None:
    runs = {"ragkit": _seconds(2, 1), "slow": _seconds(8, 3), "other": _seconds(4, 6)}
    assert ratios(runs, "ragkit", ["slow", "other"]) == [2.0, 3.0]
    assert median(runs["slow"]) == 5.5


def test_pieces_end_at_line_ends_and_lose_nothing() -> None:
    text = "".join(f"{number} {'word ' * 100}\n" for number in range(100))
    pieces = list(_pieces(text))
    assert len(pieces) == 3
    assert "".join(pieces) == text
    assert all(piece.endswith("\n") for piece in pieces)


def test_a_page_escapes_what_it_is_made_of() -> None:
    page = _page("= A < B =\nOne & two\n\nThree")
    assert "<h1>A &lt; B</h1>" in page
    assert "<p>One &amp; two</p>\n<p>Three</p>" in page


def test_each_text_is_told_by_its_document_and_its_place() -> None:
    texts, origins = texts_and_origins([["a", "b"], ["c"]])
    assert texts == ["a", "b", "c"]
    assert origins[1] == {"source": "0000000.txt", "ordinal": 1}
    assert origins[2] == {"source": "0000001.txt", "ordinal": 0}


def test_no_side_is_without_its_program_and_its_list() -> None:
    peers = ROOT / "benchmarks/peers"
    for name in ("langchain", "llamaindex", "haystack"):
        assert (peers / f"{name}_side.py").is_file()
        assert (peers / f"{name}.txt").is_file()
