"""`ragkit ask --why DOCUMENT`: trace a document on the way to an answer, by stage."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from ragkit.cli.as_of import AsOf, moment
from ragkit.cli.collection import AnswersFrom
from ragkit.cli.mode import SearchMode
from ragkit.cli.where import Where
from ragkit.text.printable import printable

if TYPE_CHECKING:
    from ragkit.why import Step, Why

_MARKS = {True: "kept", False: "LOST", None: ""}


def why(
    question: Annotated[str, typer.Argument(help="The question, as it was asked.")],
    document: Annotated[str, typer.Option(help="Document: its number, file name, title or path.")],
    collection: AnswersFrom = None,
    k: Annotated[
        int | None, typer.Option("-k", help="Passages to answer from; as `ragkit ask` has them.")
    ] = None,
    mode: SearchMode = "hybrid",
    where: Where = None,
    as_of: AsOf = None,
    answer: Annotated[
        bool, typer.Option(help="Generate the answer, to see what it shows and cites.")
    ] = True,
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Tell what became of a document on the way to an answer, and which stage lost it."""
    from ragkit.cli import render
    from ragkit.knowledge.base import KnowledgeBase

    as_of_moment = moment(as_of)
    with KnowledgeBase.open(collection=collection) as kb:
        kb_as_of = kb.adapted(where=where, as_of=as_of_moment)
        explanation = kb_as_of.why(question, document, k=k, mode=mode, answer=answer)
    if json:
        render.print_json(why_json(explanation))
    else:
        _print(explanation)


def why_json(explanation: Why) -> dict[str, Any]:
    """Write an explanation as JSON."""
    from dataclasses import asdict

    return {
        "question": explanation.question,
        "document": None if explanation.document is None else asdict(explanation.document),
        "lost": explanation.lost or None,
        "remedy": explanation.remedy,
        "steps": [_step_json(step) for step in explanation.steps],
    }


def _step_json(step: Step) -> dict[str, Any]:
    numbers = {
        name: round(value, 6) if isinstance(value, float) else value
        for name, value in step.numbers.items()
    }
    return {"name": step.name, "kept": step.kept, "says": step.says, "numbers": numbers}


def _print(explanation: Why) -> None:
    from ragkit.cli import render

    rows = [(step.name, _MARKS[step.kept], step.says) for step in explanation.steps]
    render.print_table(("stage", "", "what it says"), rows, empty="")
    if explanation.lost:
        typer.echo(printable(f"\nLost at: {explanation.lost}. {explanation.remedy}"))
    else:
        typer.echo("\nNothing lost it.")
