"""Which command lines a running server takes, read as the commands read them."""

import pytest

from ragkit.cli.arguments import read_arguments
from ragkit.cli.output import AskRequest, Request, SearchRequest


@pytest.mark.parametrize(
    ("arguments", "request_read"),
    [
        (["ask", "When", "is", "lunch?"], AskRequest("When is lunch?")),
        (
            ["ask", "-c", "house", "-k", "3", "--mode", "dense", "--json", "--", "-x?"],
            AskRequest("-x?", "house", 3, "dense", as_json=True),
        ),
        (
            ["ask", "为什么", "--where", "year > 2020", "--as-of=2026-01-31", "--show-reasoning"],
            AskRequest("为什么", where="year > 2020", as_of="2026-01-31", show_reasoning=True),
        ),
        (["search", "leave"], SearchRequest("leave")),
        (
            ["search", "--collection", "house", "leave", "-k5", "--mode=lexical"],
            SearchRequest("leave", "house", 5, "lexical"),
        ),
    ],
)
def test_a_request_holds_what_the_command_reads(
    arguments: list[str], request_read: Request
) -> None:
    assert read_arguments(arguments) == request_read


@pytest.mark.parametrize(
    "arguments",
    [
        ["ask"],
        ["ask", "--help"],
        ["search", "-h"],
        ["ask", "why?", "--colour"],
        ["ask", "why?", "-k", "many"],
        ["ask", "why?", "-o", "temperature=0"],
        ["ask", "why?", "--why", "a.md"],
        ["ask", "why?", "--agent"],
        ["search", "leave", "--trace"],
        ["search", "leave", "--no-rerank"],
        ["search", "leave", "--expand", "none"],
        ["documents", "list"],
        ["--version"],
    ],
)
def test_other_lines_are_left_to_the_command(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert read_arguments(arguments) is None
    assert capsys.readouterr() == ("", "")
