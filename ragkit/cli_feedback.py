"""`ragkit feedback`: list, export and delete what people think of answers."""

from __future__ import annotations

import json as json_module
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice
from typing import TYPE_CHECKING, Annotated

import typer

from ragkit import render
from ragkit.settings import load_settings

if TYPE_CHECKING:
    from ragkit.store.feedback import Feedback, Rating

app = typer.Typer(
    help="List, export and delete what people think of answers.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
)
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON.")]
RatingOption = Annotated[
    str | None, typer.Option("--rating", metavar="up|down", help="Only these. Default: both.")
]
CollectionOption = Annotated[
    str | None, typer.Option("--collection", "-c", help="Only answers from this collection.")
]


@app.command("list")
def list_(
    rating: RatingOption = None,
    collection: CollectionOption = None,
    limit: Annotated[int, typer.Option(min=1, max=10_000, help="How many at most.")] = 50,
    json: JsonOption = False,
) -> None:
    """List the tenant's ratings, of everybody, the latest first."""
    with _feedback() as feedback:
        found = feedback.all(rating=_rating(rating), collections=_only(collection))
        shown = list(islice(found, limit))
    if json:
        from ragkit.conversation.rated import rated_json

        render.print_json({"feedback": [rated_json(rated) for rated in shown]})
        return
    columns = ["id", "rating", "question", "answer", "comment", "collection", "by", "at"]
    rows = [
        [
            *(str(rated.id), rated.rating, _short(rated.question), _short(rated.answer)),
            *(_short(rated.comment), rated.collection, rated.principal),
            rated.updated_at.isoformat(timespec="seconds"),
        ]
        for rated in shown
    ]
    render.print_table(columns, rows, empty="Nobody has rated an answer yet.")


@app.command()
def export(
    rating: RatingOption = None,
    collection: CollectionOption = None,
    json: Annotated[
        bool, typer.Option("--json", help="Print one JSON array instead of lines.")
    ] = False,
) -> None:
    """Print ratings as items to evaluate with: JSON, one item a line, the latest first."""
    from ragkit.conversation.rated import evaluation_item

    with _feedback() as feedback:
        found = feedback.all(rating=_rating(rating), collections=_only(collection))
        if json:
            render.print_json([evaluation_item(rated) for rated in found])
            return
        for rated in found:
            # ASCII: a line is a line for every reader, whatever the terminal's encoding.
            typer.echo(json_module.dumps(evaluation_item(rated)))


@app.command()
def delete(
    ids: Annotated[list[int], typer.Argument(metavar="ID...", help="The ratings, as listed.")],
    json: JsonOption = False,
) -> None:
    """Delete ratings, whoever gave them, with their copies of question and answer."""
    with _feedback() as feedback:
        for number in ids:
            feedback.delete(number, everybody=True)
    if json:
        render.print_json({"deleted": ids})
    else:
        typer.echo(f"Deleted {len(ids)} rating{'s' * (len(ids) != 1)}.")


def _rating(text: str | None) -> Rating | None:
    from ragkit.errors import UsageError

    match text:
        case None | "up" | "down":
            return text
    raise UsageError(f"there is no rating {text!r}: give up or down")


def _only(collection: str | None) -> tuple[str, ...] | None:
    return None if collection is None else (collection,)


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= 60 else line[:59] + "…"


@contextmanager
def _feedback() -> Iterator[Feedback]:
    """Open the feedback of the settings' tenant."""
    from ragkit.store.feedback import Feedback
    from ragkit.store.open import open_database

    settings = load_settings()
    with open_database(settings) as database:
        yield Feedback(
            database.pool,
            settings.tenant,
            settings.principal,
            keep_days=settings.serve_keep_days,
        )
