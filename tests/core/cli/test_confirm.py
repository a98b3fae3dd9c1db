"""What is deleted for good is asked about first."""

import sys

import pytest
import typer
from typer.testing import CliRunner

from ragkit.cli.confirm import confirm
from ragkit.errors import UsageError


@pytest.mark.parametrize(
    ("answer", "code", "gone"), [("y", 0, True), ("n", 1, False), ("", 1, False)]
)
def test_only_a_yes_goes_on(answer: str, code: int, gone: bool) -> None:
    app = typer.Typer()

    @app.command()
    def delete() -> None:
        sys.stdin.isatty = lambda: True  # type: ignore[method-assign]
        confirm("Delete it?")
        typer.echo("gone")

    done = CliRunner().invoke(app, input=f"{answer}\n")
    assert (done.exit_code, "gone" in done.stdout) == (code, gone)
    assert "Delete it?" in done.stderr


def test_the_end_of_the_input_is_no_yes() -> None:
    app = typer.Typer()

    @app.command()
    def delete() -> None:
        sys.stdin.isatty = lambda: True  # type: ignore[method-assign]
        confirm("Delete it?")

    done = CliRunner().invoke(app, input="")
    assert done.exit_code == 1
    assert done.stderr.splitlines()[-1] == "Nothing was done."


@pytest.mark.parametrize("closed", [False, True])
def test_nobody_to_ask_is_a_mistake(monkeypatch: pytest.MonkeyPatch, closed: bool) -> None:
    if closed:
        monkeypatch.setattr(sys, "stdin", None)
    with pytest.raises(UsageError, match="nothing was done; add --yes"):
        confirm("Delete it?")
