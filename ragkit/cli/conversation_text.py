"""Print a conversation's turns in a terminal."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from pathlib import PurePath
from typing import TYPE_CHECKING

import typer

from ragkit.answer.labels import labels
from ragkit.answer.plain_text import place
from ragkit.cli.words import say
from ragkit.text.printable import printable, printable_line

if TYPE_CHECKING:
    from ragkit.store.people.conversations import StoredTurn


def print_turns(turns: Sequence[StoredTurn]) -> None:
    """Print questions and answers, each answer's sources in one line below it."""
    if not turns:
        typer.echo(say("Nothing has been asked yet."))
    for number, turn in enumerate(turns, 1):  # ordinals have gaps where a turn was replaced
        typer.echo(f"{number}. {printable(turn.question)}")
        if turn.query != turn.question:
            note = labels(turn.question)["searched for"].format(query=turn.query)
            typer.echo(f"   {printable(note)}")
        typer.echo(textwrap.indent(printable(turn.answer), "   "))
        places = dict.fromkeys(
            f"[{citation.n}] {PurePath(citation.uri).name}" for citation in turn.citations
        )
        if places:
            typer.echo(f"   {printable_line('  '.join(places))}")
        typer.echo("")


def print_sources(turn: StoredTurn) -> None:
    """Print an answer's citations in full, with each document's address and number."""
    words = labels(turn.question)
    if not turn.citations:
        typer.echo(words["no sources"])
    for citation in turn.citations:
        head = f"[{citation.n}] {place(citation, words)}  {words[citation.verdict]}"
        typer.echo(printable_line(head))
        where = words["document"].format(
            document=citation.document, start=citation.start, end=citation.end
        )
        typer.echo(textwrap.indent(printable_line(f"{citation.uri}{words['next']}{where}"), "    "))
        typer.echo(textwrap.indent(printable(citation.quote), "    "))
