"""The headings that a quoted place stands under, also in a passage of several sections."""

import pytest

from ragkit.text.places import heading_path, headings_at
from ragkit.types import Hit

ENGLISH = "# Leave\n\n25 days a year.\n\n# Meals\n\n## Canteen\n\nIt opens at noon.\n"
CHINESE = "# 请假\n\n年假为十五天。\n\n# 用餐\n\n## 食堂\n\n十二点开门。\n"


def passage(
    text: str, *headings: str, start: int = 100, uri: str = "/x/handbook.md", lead: str = ""
) -> Hit:
    end = start + len(text)
    return Hit(1, 2, uri, "handbook", None, start, end, text, 1.0, headings=headings, lead=lead)


@pytest.mark.parametrize(
    ("text", "quote", "path"),
    [
        (ENGLISH, "25 days", ("Leave",)),
        (ENGLISH, "It opens", ("Meals", "Canteen")),
        (CHINESE, "年假", ("请假",)),
        (CHINESE, "十二点", ("用餐", "食堂")),
    ],
)
def test_headings_that_the_sections_do_not_share_are_read(
    text: str, quote: str, path: tuple[str, ...]
) -> None:
    hit = passage(text)
    assert headings_at(hit, hit.start + text.index(quote)) == path


def test_the_passages_own_headings_stand_above_them_once() -> None:
    text = "## Canteen\n\nOpens at noon.\n\n## Kitchen ##\n\nClosed.\n"
    shared = passage(text, "Meals")
    assert headings_at(shared, 100 + text.index("Closed")) == ("Meals", "Kitchen")
    whole = passage("# Meals\n\n## Canteen\n\nOpens at noon.", "Meals", "Canteen")
    assert headings_at(whole, 125) == ("Meals", "Canteen")
    assert headings_at(passage("Opens at noon.", "Meals", "Canteen"), 100) == ("Meals", "Canteen")


def test_comments_in_code_are_no_headings() -> None:
    fenced = "# Setup\n\n````sh\n# install\n```\n# then\n````\n\nThen start it."
    assert headings_at(passage(fenced), 100 + fenced.index("Then start")) == ("Setup",)
    source = "# Reads a file\n\ndef read() -> None: ..."
    assert headings_at(passage(source, "def read", uri="/x/a.py"), 130) == ("def read",)
    piece = passage("# x\n\nThe rest of a code block.", "Setup", lead="```sh")
    assert headings_at(piece, 110) == ("Setup",)


def test_the_last_sign_of_a_name_stays() -> None:
    text = "# About C#\n\n## 关于 C# ##\n\nAsk.\n\n### #\n\nOr not."  # the last one is empty
    path = ("About C#", "关于 C#")
    assert headings_at(passage(text), 100 + text.index("Ask")) == path
    assert headings_at(passage(text), 100 + text.index("Or")) == path


def test_a_heading_that_is_the_title_is_shown_once() -> None:
    assert heading_path("Leave", ("Leave", "Parents")) == "Parents"
    assert heading_path("handbook", ("请假", "产假")) == "请假 > 产假"
    assert heading_path("Leave", ("Leave",)) == heading_path("Leave", ()) == ""
