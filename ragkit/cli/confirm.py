"""Ask for confirmation before a deletion; without a terminal, name the option that confirms."""

import sys
from typing import Annotated

import typer

from ragkit.cli.words import say
from ragkit.errors import UsageError

YesOption = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask for confirmation.")]


def confirm(question: str) -> None:
    """Return after a yes, exit otherwise. Raises UsageError without a terminal."""
    if sys.stdin is None or not sys.stdin.isatty():
        text = "{question} There is no terminal to ask at: nothing was done; add --yes."
        raise UsageError(say(text, question=question))
    try:
        confirmed = typer.confirm(question, err=True)
    except typer.Abort:  # Ctrl-C or Ctrl-D
        confirmed = False
        typer.echo("", err=True)
    if not confirmed:
        typer.echo(say("Nothing was done."), err=True)
        raise typer.Exit(1)
