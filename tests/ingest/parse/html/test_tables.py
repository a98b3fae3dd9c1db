"""HTML tables: heads by evidence, heads of rows in every row, layout tables as text."""

import pytest

from ragkit_ingest.parse import ParseOptions, parse_bytes

EMPTY = ("|  |  |", "|  |  |  |")
LONG = "The radar gauge measures the level of a liquid without touching it, and needs no care. "


def rows(table: str) -> list[str]:
    """Give a table's lines, without the rule below its head."""
    page = f"<p>Before.</p><table>{table}</table>".encode()
    text = parse_bytes(page, ".html", ParseOptions(unzipped_bytes=1 << 20)).text
    return [line for line in text.split("\n")[2:] if line and not line.startswith("| -")]


def cells(*lines: str, tag: str = "td") -> str:
    return "".join(
        "<tr>" + "".join(f"<{tag}>{cell}</{tag}>" for cell in line.split(",")) + "</tr>"
        for line in lines
    )


@pytest.mark.parametrize(
    ("table", "head"),
    [
        (cells("Model,Power", tag="th") + cells("P20,800"), "| Model | Power |"),
        (f"<thead>{cells('Model,Power')}</thead>{cells('P20,800')}", "| Model | Power |"),
        (cells("<b>Model</b>,<strong>Power</strong>", "P20,big"), "| Model | Power |"),
        (cells("Model,Power,Head", "P20,800,42"), "| Model | Power | Head |"),
        (cells("Model,Power", "P20,800 W", "P30,900 W"), "| Model | Power |"),
        (cells("月份,台数,费用", "一月,2,100", "二月,5,240"), "| 月份 | 台数 | 费用 |"),
        (
            cells("Name,Task,Room", "Ann Example,Buys parts,North hall", "Bo,Sells pumps,Shop"),
            "| Name | Task | Room |",
        ),
        ("<tr><td><th>2024<th>2025" + cells("Pumps,1,2"), "|  | 2024 | 2025 |"),
        (cells("Power,800 W", "Head,42 m"), EMPTY[0]),
        (cells("Colour,red", "Weight,12 kg", "Power,800 W"), EMPTY[0]),
        ("<tr><th>Power<td>800 W<tr><th>Head<td>42 m", EMPTY[0]),
        (cells("P20,800,42", "P30,900,45"), EMPTY[1]),
        (cells("Leave,ask the office", "Travel,ask the desk"), EMPTY[0]),
    ],
)
def test_the_first_row_is_the_head_where_something_says_so(table: str, head: str) -> None:
    lines = rows(table)
    assert lines[0] == head
    assert len(lines) == table.count("<tr>") + (head in EMPTY)


def test_heads_stand_in_each_of_their_places() -> None:
    head = "<tr><th rowspan=2>Kind<th colspan=2>Sold<tr><th>2024<th>2025"
    assert rows(f"{head}{cells('Pumps,1,2')}") == [
        "| Kind | Sold | Sold |",
        "| Kind | 2024 | 2025 |",
        "| Pumps | 1 | 2 |",
    ]


def test_a_head_of_rows_that_stands_alone_is_in_each_row() -> None:
    group = "<tr><th rowspan=3>{}</th></tr>{}"
    head = cells("Kind,Model,Price", tag="th")
    pumps = group.format("Pumps", cells("P20,1", "P30,2"))
    filters = group.format("Filters", cells("F1,3", "F2,4"))
    assert rows(head + pumps + filters) == [
        "| Kind | Model | Price |",
        "| Pumps |  |  |",
        "| Pumps | P20 | 1 |",
        "| Pumps | P30 | 2 |",
        "| Filters |  |  |",
        "| Filters | F1 | 3 |",
        "| Filters | F2 | 4 |",
    ]


def test_a_title_over_all_columns_is_no_head_and_a_group_is_no_title() -> None:
    wide = "<tr><td colspan=2>{}</td></tr>"
    table = cells("Model,Power", "P20,800 W", "P30,900 W")
    assert rows(wide.format("Prices") + table)[:2] == ["Prices", "| Model | Power |"]
    groups = wide.format("Pumps") + cells("P20,1") + wide.format("Filters") + cells("F1,2")
    assert rows(groups) == [EMPTY[0], "| Pumps |  |", "| P20 | 1 |", "| Filters |  |", "| F1 | 2 |"]


@pytest.mark.parametrize(
    ("table", "text"),
    [
        (cells("Logo,Example Works"), ["Logo", "Example Works"]),
        (cells("Pumps", "Filters"), ["Pumps", "Filters"]),
        (
            f"<tr><td>Left<td><p>{LONG * 3}</p><p>{LONG * 3}</p><tr><td>Foot<td>Right",
            ["Left", (LONG * 3).strip(), (LONG * 3).strip(), "Foot", "Right"],
        ),
    ],
    ids=["one row", "one column", "paragraphs"],
)
def test_a_table_without_data_is_text(table: str, text: list[str]) -> None:
    assert rows(table) == text
