"""Reading order where one look at the page does not tell: sheets of two pages, white bands."""

from ragkit_ingest.parse import parse_bytes
from tests.ingest.pdfs import column, grid, pdf, text


def read(content: str, box: str = "") -> str:
    parsed = parse_bytes(pdf([content], page=box), ".pdf")
    return " ".join(parsed.text.split())


def numbered(name: str, count: int, *, begins: bool = True, ends: bool = True) -> list[str]:
    """Lines of one sentence: `name` and each line's number tell them apart."""
    lines = [f"{name}{n} goes on in this line as" for n in range(1, count + 1)]
    lines[0] = lines[0].capitalize() if begins else lines[0]
    return [*lines[:-1], f"{lines[-1]}{' such.' if ends else ''}"]


def in_order(written: str, *names: str) -> bool:
    places = [written.index(name) for name in names]
    return places == sorted(places)


SHEET = "/MediaBox [0 0 1008 612]"


def test_two_pages_on_a_sheet_with_columns_of_their_own() -> None:
    page = ""
    for n, (a, b, c, d) in enumerate(
        zip(*(numbered(name, 8) for name in ("ape", "bee", "cat", "dog")), strict=True)
    ):
        for x, line in ((40, a), (270, b), (540, c), (770, d)):
            page += text(x, 520 - 12 * n, line, size=10, font="F3")
    # Each page has a block of text below a figure, at another height.
    page += column(40, 300, numbered("elk", 6), size=10, font="F3", step=12)
    page += column(770, 200, numbered("fox", 6), size=10, font="F3", step=12)
    page += text(240, 30, "16", size=10) + text(740, 30, "17", size=10)
    written = read(page, SHEET)
    assert in_order(written, "Ape1", "ape8", "Bee1", "bee8", "Cat1", "cat8", "Dog1", "Fox1")
    assert in_order(written, "elk6", "16", "Cat1", "17")


def test_columns_go_on_below_the_white_of_a_figure() -> None:
    page = ""
    for top, (a, b) in ((700, ("ape", "bee")), (400, ("cat", "dog"))):
        left = numbered(a, 6, begins=a == "ape", ends=a == "cat")
        right = numbered(b, 6, begins=b == "bee", ends=b == "dog")
        for n, lines in enumerate(zip(left, right, strict=True)):
            for x, line in zip((60, 310), lines, strict=True):
                page += text(x, top - 12 * n, line, size=10, font="F3")
    written = read(page)
    assert in_order(written, "Ape1", "ape6", "cat1", "cat6", "Bee1", "bee6", "dog1", "dog6")


def test_columns_end_at_a_heading_over_both() -> None:
    page = text(60, 620, "A heading over both of the columns that follow", size=16, font="F3")
    for top, (a, b) in ((700, ("ape", "bee")), (590, ("cat", "dog"))):
        for n, lines in enumerate(zip(numbered(a, 5), numbered(b, 5), strict=True)):
            for x, line in zip((60, 310), lines, strict=True):
                page += text(x, top - 12 * n, line, size=10, font="F3")
    written = read(page)
    assert in_order(written, "Ape1", "Bee1", "bee5", "A heading", "Cat1", "Dog1")


def test_sections_with_white_between_them_are_read_one_after_the_other() -> None:
    page = ""
    for top, (a, b) in ((700, ("ape", "bee")), (400, ("cat", "dog"))):
        page += column(60, top, numbered(a, 6), size=10, font="F3", step=12)
        page += column(310, top, numbered(b, 6), size=10, font="F3", step=12)
    assert in_order(read(page), "Ape1", "ape6", "Bee1", "bee6", "Cat1", "cat6", "Dog1")


def test_the_order_of_the_file_is_taken_where_places_break_sentences() -> None:
    """A quotation stands over the gutter, and the columns flow around it."""
    page = column(60, 700, numbered("ape", 6, ends=False), size=10, font="F3", step=12)
    page += column(60, 570, numbered("bee", 6, begins=False), size=10, font="F3", step=12)
    page += column(310, 700, numbered("cat", 6, ends=False), size=10, font="F3", step=12)
    page += column(310, 570, numbered("dog", 6, begins=False), size=10, font="F3", step=12)
    page += text(150, 605, "A quotation in large letters, over both.", size=14, font="F3")
    written = read(page)
    assert in_order(written, "Ape1", "ape6", "bee1", "bee6", "Cat1", "cat6", "dog1", "dog6")


def test_columns_written_row_by_row_below_text_over_both() -> None:
    """Programs that write a page's lines from the top down leave no sign of where columns begin."""
    page = column(60, 700, ["A line of an abstract that runs over both of the columns, as"] * 3)
    for n, lines in enumerate(zip(numbered("ape", 6), numbered("bee", 6), strict=True)):
        for x, line in zip((60, 310), lines, strict=True):
            page += text(x, 656 - 12 * n, line, size=10, font="F3")
    assert in_order(read(page), "abstract", "Ape1", "ape6", "Bee1", "bee6")


def ruled(x: float, top: float, name: str, rows: int = 4) -> str:
    """A small ruled table whose first cell is `name`."""
    page = grid((x, x + 60, x + 120), [top - 18 * n for n in range(rows + 1)])
    for n in range(rows):
        page += text(x + 4, top - 13 - 18 * n, str(n) if n else name, size=10, font="F3")
        page += text(x + 64, top - 13 - 18 * n, str(7 * n), size=10, font="F3")
    return page


def test_columns_of_tables_are_read_as_the_file_writes_them() -> None:
    left = ruled(60, 700, "Ape", 7) + text(60, 555, "A caption", size=10, font="F3")
    left += ruled(60, 540, "Bee") + ruled(60, 440, "Cat")
    right = ruled(310, 700, "Dog", 5) + ruled(310, 590, "Elk", 6) + ruled(310, 455, "Fox")
    assert in_order(read(left + right), "Ape", "caption", "Bee", "Cat", "Dog", "Elk", "Fox")


def test_tables_that_are_written_side_by_side_are_read_so() -> None:
    page = ""
    for top, left, right in ((700, "Ape", "Bee"), (600, "Cat", "Dog"), (500, "Elk", "Fox")):
        page += ruled(60, top, left) + ruled(310, top, right)
    assert in_order(read(page), "Ape", "Bee", "Cat", "Dog", "Elk", "Fox")


def test_columns_of_lists_are_read_as_the_file_writes_them() -> None:
    page = ""
    for x, tops, names in ((60, (700, 600, 480), "ABC"), (310, (700, 640, 540), "DEF")):
        for top, name in zip(tops, names, strict=True):
            items = [f"{name}0 a list", *(f"{n}. {name}{n}" for n in range(1, 4))]
            page += column(x, top, items, size=10, font="F3", step=12)
    assert in_order(read(page), "A1", "A3", "B0", "B3", "C1", "C3", "D0", "D3", "E0", "F0", "F3")


def test_a_form_whose_names_are_written_before_its_values_is_read_row_by_row() -> None:
    names = column(60, 700, ["Name:", "Street:", "Town:", "Land:", "Born:"], step=40)
    values = column(310, 700, ["Ann", "Elm Road", "Bath", "Wales", "1970"], step=40)
    assert in_order(read(names + values), "Name", "Ann", "Street", "Elm", "Town", "Bath", "Land")
