"""Pages of PDFs made on the spot: how they are drawn, and where the marks are."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Sequence
from typing import Final

import pypdfium2
import pytest

from ragkit_serve.original.page import LONG_SIDE, MAX_MARKS, Box, draw, marks
from ragkit_serve.original.png import png
from ragkit_serve.original.quote_matching import Quote, letters
from ragkit_serve.original.worker import answer
from tests.ingest.pdfs import COURIER, column, grid, text
from tests.serve.original.pages import CHINESE, chinese, locked, one_page

SIZE: Final = 12.0
NEAR: Final = 0.012  # of the page: less than a line


def boxes(data: bytes, *quoted: str) -> list[Box]:
    with pypdfium2.PdfDocument(data) as document:
        return marks(document[0], [Quote(letters(quotation)) for quotation in quoted])


def box(x: float, y: float, chars: int, *, width: float = 612, height: float = 792) -> Box:
    """Return where a line in Courier is on a page of a size, in shares from its upper left."""
    right = x + chars * COURIER * SIZE
    return x / width, 1 - (y + 9) / height, right / width, 1 - (y - 2) / height


def is_near(some: Sequence[Box], expected: Sequence[Box]) -> bool:
    return len(some) == len(expected) and all(
        abs(a - b) < NEAR
        for one, other in zip(some, expected, strict=True)
        for a, b in zip(one, other, strict=True)
    )


LINES: Final = ("Leave is twenty-eight days a year.", "Unused days lapse in March.")


def test_a_mark_lies_over_its_line() -> None:
    data = one_page(column(72, 700, LINES))
    assert is_near(boxes(data, LINES[1]), [box(72, 686, len(LINES[1]))])
    assert is_near(boxes(data, "twenty-eight days"), [box(72 + 9 * 7.2, 700, 17)])


def test_a_quotation_of_two_lines_has_a_mark_on_each() -> None:
    both = boxes(one_page(column(72, 700, LINES)), " ".join(LINES))
    assert is_near(both, [box(72, 700, len(LINES[0])), box(72, 686, len(LINES[1]))])


def test_a_hyphen_at_the_end_of_a_line_does_not_matter() -> None:
    data = one_page(column(72, 700, ["The employ-", "ment ends."]))
    assert is_near(boxes(data, "The employment ends."), [box(72, 700, 11), box(72, 686, 10)])


def test_two_columns_are_marked_each_by_itself() -> None:
    left = ["The doors are shut at", "six in the evening."]
    right = ["The oil is changed on", "the first of March."]
    data = one_page(column(72, 700, left) + column(340, 700, right))
    assert is_near(boxes(data, " ".join(right)), [box(340, 700, 21), box(340, 686, 19)])
    assert is_near(boxes(data, " ".join(left)), [box(72, 700, 21), box(72, 686, 19)])


def test_a_row_of_a_table_is_marked_by_its_cells() -> None:
    cells = [(80, "Measuring range of gauge"), (360, "0.3 m to 40 m in water")]
    data = one_page(grid([72, 340, 560], [690, 720]) + "".join(text(x, 700, c) for x, c in cells))
    row = boxes(data, "| Measuring range of gauge | 0.3 m to 40 m in water |")
    assert is_near(row, [box(80, 700, 24), box(360, 700, 22)])


@pytest.mark.parametrize("turn", [90, 180, 270, 450, -90])
def test_a_turned_page_is_marked_as_it_is_shown(turn: int) -> None:
    page = f"/MediaBox [0 0 612 792] /Rotate {turn}"
    (mark,) = boxes(one_page(text(72, 700, LINES[0]), page=page), LINES[0])
    left, top, right, bottom = box(72, 700, len(LINES[0]))
    expected = {
        90: (1 - bottom, left, 1 - top, right),
        180: (1 - right, 1 - bottom, 1 - left, 1 - top),
        270: (top, 1 - right, bottom, 1 - left),
    }[turn % 360]
    assert is_near([mark], [expected])


def test_a_cropped_page_is_marked_as_it_is_shown() -> None:
    page = "/MediaBox [0 0 612 792] /CropBox [50 600 450 760]"
    data = one_page(text(72, 700, LINES[0]), page=page)
    expected = box(72 - 50, 700 - 600, len(LINES[0]), width=400, height=160)
    (mark,) = boxes(data, LINES[0])
    assert mark[0] == pytest.approx(expected[0], abs=NEAR)
    assert mark[2] == pytest.approx(expected[2], abs=NEAR)
    assert mark[1] < (expected[1] + expected[3]) / 2 < mark[3]


def test_a_mark_ends_at_the_edge_of_a_cropped_page() -> None:
    page = "/MediaBox [0 0 612 792] /CropBox [100 600 200 760]"
    (mark,) = boxes(one_page(text(72, 700, LINES[0]), page=page), LINES[0])
    assert (mark[0], mark[2]) == (0.0, 1.0)


def test_chinese_from_left_to_right() -> None:
    line = "年假为二十八天，逾期作废。"
    data = one_page(chinese(72, 700, line), font=CHINESE % b"H")
    (mark,) = boxes(data, "二十八天，逾期作废。")
    assert mark[0] == pytest.approx((72 + 3 * SIZE) / 612, abs=NEAR)
    assert mark[1] < 1 - 704 / 792 < mark[3]


def test_chinese_from_top_to_bottom() -> None:
    data = one_page(chinese(300, 700, "年假为二十八天逾期作废"), font=CHINESE % b"V")
    found = boxes(data, "二十八天逾期作废")
    top, bottom = min(mark[1] for mark in found), max(mark[3] for mark in found)
    assert top == pytest.approx(1 - (700 - 3 * SIZE) / 792, abs=2 * NEAR)
    assert bottom == pytest.approx(1 - (700 - 11 * SIZE) / 792, abs=2 * NEAR)
    assert all(0.45 < mark[0] < mark[2] < 0.53 for mark in found)


def test_what_is_not_on_the_page_leaves_it_unmarked() -> None:
    assert boxes(one_page(column(72, 700, LINES)), "The vault opens with 4711.") == []
    assert boxes(one_page(""), LINES[0]) == []


def test_marks_are_bounded() -> None:
    data = one_page(column(72, 780, ["aaaa bbbb"] * 700, step=1.1))
    assert len(boxes(data, " ".join(["aaaa bbbb"] * 700))) <= MAX_MARKS


def shape(picture: bytes) -> tuple[int, int, int]:
    """Return a PNG's width, height and kind of colours, having unpacked its pixels."""
    assert picture.startswith(b"\x89PNG\r\n\x1a\n")
    width, height, depth, kind = struct.unpack(">IIBB", picture[16:26])
    size = struct.unpack(">I", picture[33:37])[0]
    rows = zlib.decompress(picture[41 : 41 + size])
    assert len(rows) == height * (1 + width * (3 if kind == 2 else 1)), depth
    return width, height, kind


def drawn(data: bytes) -> bytes:
    with pypdfium2.PdfDocument(data) as document:
        return draw(document[0])


def test_a_page_is_a_picture_in_grey_or_in_colours() -> None:
    assert shape(drawn(one_page(text(72, 700, "Black.")))) == (1356, LONG_SIDE, 0)
    assert shape(drawn(one_page("1 0 0 rg 0 0 300 300 re f\n"))) == (1356, LONG_SIDE, 2)


@pytest.mark.parametrize(
    "size", ["1000000 1000000", "14400 10", "10 14400", "1 1", "0.01 5000000", "3370 2384"]
)
def test_a_picture_has_a_bounded_size_whatever_the_page_has(size: str) -> None:
    data = one_page(text(1, 1, "Large."), page=f"/MediaBox [0 0 {size}]")
    width, height, _ = shape(drawn(data))
    assert min(width, height) >= 1
    assert max(width, height) <= LONG_SIDE + 1


def test_pixels_are_written_as_they_are() -> None:
    picture = png(b"\1\2\3\4\5\6\0\0" + b"\7\7\7\7\7\7\0\0", 2, 2, 8)
    assert shape(picture) == (2, 2, 2)
    assert zlib.decompress(picture[41:-16]) == b"\0\1\2\3\4\5\6" + b"\0\7\7\7\7\7\7"


ASKED: Final = {"page": 1, "draw": True, "quotes": [["leaveistwentyeightdaysayear", 0]]}


def test_a_file_that_only_its_owner_may_change_is_shown() -> None:
    fields, picture = answer(locked(text(72, 700, LINES[0])), ASKED)
    assert shape(picture)[1] == LONG_SIDE
    assert is_near(fields["marks"], [box(72, 700, len(LINES[0]))])


@pytest.mark.parametrize("data", [b"", b"%PDF-1.4\n", b"\0" * 1000, b"%PDF-1.7 %%EOF"])
def test_what_is_no_pdf_is_told(data: bytes) -> None:
    assert answer(data, ASKED) == ({"error": "damaged"}, b"")


def test_a_page_that_is_not_there_is_told() -> None:
    assert answer(one_page(""), {**ASKED, "page": 2}) == ({"error": "page", "pages": 1}, b"")


def test_without_a_picture_only_the_marks_are_told() -> None:
    fields, picture = answer(one_page(text(72, 700, LINES[0])), {**ASKED, "draw": False})
    assert (fields["pages"], fields["size"], len(fields["marks"]), picture) == (
        1,
        [612, 792],
        1,
        b"",
    )
