"""Rows above a table's head: titles and units of sheets, merged over the columns or not."""

import io
from collections.abc import Sequence

import openpyxl
import pytest

from ragkit_ingest.parse import parse_bytes
from tests.ingest.parse.office.oldworkbooks import workbook

PEOPLE = [["姓名", "部门", "电话"], ["张伟", "财务", "8001"], ["李娜", "人事", "8002"]]
TABLE = "| 姓名 | 部门 | 电话 |\n| - | - | - |\n| 张伟 | 财务 | 8001 |\n| 李娜 | 人事 | 8002 |\n"


def sheet(rows: Sequence[Sequence[str | None]], merged: str = "") -> str:
    book = openpyxl.Workbook()
    page = book.active
    assert page is not None
    for row in rows:
        page.append(row)
    if merged:
        page.merge_cells(merged)
    buffer = io.BytesIO()
    book.save(buffer)
    return parse_bytes(buffer.getvalue(), ".xlsx").text


@pytest.mark.parametrize("merged", ["", "A1:C1"])
def test_a_title_above_the_head_is_no_head(merged: str) -> None:
    rows = [["2026年通讯录"], *PEOPLE]
    assert sheet(rows, merged) == f"# Sheet\n\n2026年通讯录\n\n{TABLE}"


def test_a_title_and_a_unit_at_the_other_end() -> None:
    rows: list[Sequence[str | None]] = [["通讯录"], [None, None, "单位：人"], *PEOPLE]
    assert sheet(rows) == f"# Sheet\n\n通讯录\n\n单位：人\n\n{TABLE}"


def test_old_workbooks_have_titles_too() -> None:
    text = parse_bytes(workbook({"People": [["Staff list"], *PEOPLE]}), ".xls").text
    assert text == f"# People\n\nStaff list\n\n{TABLE}"


def test_separated_values_have_titles_too() -> None:
    lines = ["通讯录", "", *(",".join(row) for row in PEOPLE)]
    assert parse_bytes("\n".join(lines).encode(), ".csv").text == f"通讯录\n\n{TABLE}"
    assert parse_bytes(b"Item\nLid\nSeal\n", ".csv").text.startswith("| Item |\n| - |\n")


def test_what_may_be_a_head_stays_with_its_table() -> None:
    two = [["Item"], ["Lid", "steel"], ["Seal", "rubber"]]
    assert "| Item |  |\n| - | - |\n" in sheet(two)
    single: list[Sequence[str | None]] = [["a"], [None, "b"], [None, None, "c"]]
    assert "| a |  |  |\n| - | - | - |\n" in sheet(single)
    below: list[Sequence[str | None]] = [*PEOPLE, ["合计"]]
    assert sheet(below).endswith("| 合计 |  |  |\n")
