"""Ask before something is deleted for good; where nobody can be asked, name the option instead."""

import sys

import typer

from ragkit.errors import UsageError


def confirm(question: str) -> None:
    """Go on only after a yes. Raises UsageError without a terminal; --yes is the caller's."""
    if sys.stdin is None or not sys.stdin.isatty():
        raise UsageError(f"{question} There is no terminal to ask at: nothing was done; add --yes.")
    typer.confirm(question, abort=True, err=True)
