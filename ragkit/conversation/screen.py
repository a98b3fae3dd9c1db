"""A conversation's turns in a terminal. It knows nothing of where they come from."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from pathlib import PurePath
from typing import TYPE_CHECKING

import typer

from ragkit.render import VERDICTS, printable, printable_line
from ragkit.text.headings import heading_path

if TYPE_CHECKING:
    from ragkit.store.conversations import StoredTurn


def print_turns(turns: Sequence[StoredTurn]) -> None:
    """Print questions and answers, each answer's sources in one line below it."""
    if not turns:
        typer.echo("Nothing has been asked yet.")
    for number, turn in enumerate(turns, 1):  # an ordinal is left out where a turn was replaced
        typer.echo(f"{number}. {printable(turn.question)}")
        if turn.query != turn.question:
            typer.echo(f"   searched for: {printable(turn.query)}")
        typer.echo(textwrap.indent(printable(turn.answer), "   "))
        places = dict.fromkeys(
            f"[{citation.n}] {PurePath(citation.uri).name}" for citation in turn.citations
        )
        if places:
            typer.echo(f"   {printable_line('  '.join(places))}")
        typer.echo("")


def print_sources(turn: StoredTurn) -> None:
    """Print what an answer cites, whole."""
    if not turn.citations:
        typer.echo("The answer cites nothing.")
    for citation in turn.citations:
        page = f", page {citation.page}" if citation.page is not None else ""
        place = f"document {citation.document}, characters {citation.start}-{citation.end}"
        path = heading_path(citation.title, citation.headings)
        section = f", {path}" if path else ""
        verdict = VERDICTS[citation.verdict]
        head = f"[{citation.n}] {citation.uri}{section}{page}, {place}  {verdict}"
        typer.echo(printable_line(head))
        typer.echo(textwrap.indent(printable(citation.quote), "    "))
