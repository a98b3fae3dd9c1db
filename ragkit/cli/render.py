"""Output of the commands: JSON shapes, and plain text for a terminal or a pipe."""

import sys
from collections.abc import Sequence
from typing import Any

import typer

from ragkit.cli import output_values
from ragkit.errors import IncompleteAnswerError
from ragkit.json_values import to_json
from ragkit.text.printable import printable_line
from ragkit.types import Answer, Claim, Hit, Stage

print_json = output_values.print_json


def hit_json(hit: Hit) -> dict[str, Any]:
    """Return the JSON of a passage: its place, its text and its scores."""
    fields: dict[str, Any] = to_json(
        hit, digits=6, without=("chunk", "version", "metadata", "lead", "parent")
    )
    return fields


def stage_json(stage: Stage) -> dict[str, Any]:
    """Return the JSON of a step of a search: its chunks, best first, each with its score."""
    fields: dict[str, Any] = to_json(stage, digits=6)
    return fields


def claim_json(claim: Claim) -> dict[str, Any]:
    """Return the JSON of a claim; it has a reason where there is one."""
    fields: dict[str, Any] = to_json(claim, without=() if claim.reason else ("reason",))
    return fields


def answer_json(answer: Answer) -> dict[str, Any]:
    """Return the JSON of an answer, with its citations, claims and used passages."""
    return {
        "answer": answer.text,
        "refused": answer.refused,
        "reason": answer.reason,
        "citations": to_json(answer.citations),
        "unverified": list(answer.unverified),
        "claims": [
            claim_json(claim) | {"text": answer.text[claim.start : claim.end]}
            for claim in answer.claims
        ],
        "used": [
            {
                "document": hit.document,
                "version": hit.version,
                "uri": hit.uri,
                "page": hit.page,
                "start": hit.start,
                "end": hit.end,
            }
            for hit in answer.used
        ],
        "searched": dict(answer.searched),
        "prompting": dict(answer.prompting),
        "reasoning": answer.reasoning,
        "incomplete": False,
        "usage": to_json(answer.usage),
        "timings": to_json(answer.timings, digits=4),
    }


def incomplete_json(error: IncompleteAnswerError) -> dict[str, Any]:
    """Return the text of an answer that broke off; nothing in it has been checked."""
    return {
        "answer": error.received,
        "refused": False,
        "reason": str(error),
        "citations": [],
        "incomplete": True,
    }


def print_stages(stages: Sequence[Stage]) -> None:
    """Print the steps of a search with their time, how many passages each left, and its notes."""
    rows = [
        (
            stage.name,
            f"{1000 * stage.seconds:.1f} ms",
            str(len(stage.ranked)) if stage.ranked else "",
            ", ".join(f"{name} {_rounded(note)}" for name, note in stage.notes.items()),
        )
        for stage in stages
    ]
    print_table(("stage", "time", "passages", "notes"), rows, empty="Nothing was searched.")


def print_table(columns: Sequence[str], rows: Sequence[Sequence[str]], *, empty: str) -> None:
    """Print aligned columns, or a sentence where there are no rows."""
    if not rows:
        typer.echo(empty)
        return
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False)
    for column in columns:
        table.add_column(column, overflow="fold")
    for row in rows:
        table.add_row(*(Text(printable_line(cell)) for cell in row))
    # A pipe has no width: its reader should get one line per row.
    Console(width=None if sys.stdout.isatty() else 100_000).print(table)


def _rounded(note: float | str) -> float | str:
    return note if isinstance(note, str) else round(note, 6)
