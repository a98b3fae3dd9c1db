"""`ragkit conversations feedback`: list, export and delete the ratings of answers."""

from __future__ import annotations

import json as json_module
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from typing import TYPE_CHECKING, Annotated

import typer

from ragkit.cli import render
from ragkit.cli.words import counted, say
from ragkit.settings.settings import load_settings

if TYPE_CHECKING:
    from ragkit.store.people.feedback import Feedback, Rated, Rating


def feedback(
    rating: Annotated[
        str | None,
        typer.Option(
            "--rating", metavar="up|down", help="List only these ratings (default: both)."
        ),
    ] = None,
    collection: Annotated[
        str | None,
        typer.Option("--collection", "-c", help="List only answers from this collection."),
    ] = None,
    limit: Annotated[
        int, typer.Option(min=1, max=10_000, help="Maximum number of ratings to list.")
    ] = 50,
    export: Annotated[
        bool,
        typer.Option(
            "--export", help="Print all ratings as items for `ragkit eval`, as JSON lines."
        ),
    ] = False,
    delete: Annotated[
        list[int] | None,
        typer.Option(metavar="ID", help="Delete this rating (repeatable)."),
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """List, export or delete the ratings of answers, newest first.

    A rating contains a copy of the question and the answer, which is deleted with the rating.
    """
    from ragkit.errors import UsageError

    if delete and (export or rating or collection):
        raise UsageError("--delete cannot be combined with --export, --rating or --collection")
    with _feedback() as ratings:
        if delete:
            _delete(ratings, delete, json=json)
            return
        chosen = ratings.all(rating=_rating(rating), collections=_only(collection))
        if export:
            _export(chosen, json=json)
        else:
            _list(list(islice(chosen, limit)), json=json)


def _list(ratings: Sequence[Rated], *, json: bool) -> None:
    if json:
        from ragkit.conversation.ratings_json import rated_json

        render.print_json({"feedback": [rated_json(rated) for rated in ratings]})
        return
    names = ("id", "rating", "question", "answer", "comment", "collection", "user", "date")
    columns = [say(name) for name in names]
    rows = [
        [
            *(str(rated.id), rated.rating, _short(rated.question), _short(rated.answer)),
            *(_short(rated.comment), rated.collection, rated.principal),
            rated.updated_at.isoformat(timespec="seconds"),
        ]
        for rated in ratings
    ]
    render.print_table(columns, rows, empty=say("There are no ratings yet."))


def _export(ratings: Iterable[Rated], *, json: bool) -> None:
    from ragkit.conversation.ratings_json import evaluation_item

    items = map(evaluation_item, ratings)
    if json:
        render.print_json(list(items))
        return
    for item in items:
        # ASCII: a line is a line for every reader, whatever the terminal's encoding.
        typer.echo(json_module.dumps(item))


def _delete(ratings: Feedback, ids: Sequence[int], *, json: bool) -> None:
    for number in ids:
        ratings.delete(number, everybody=True)
    if json:
        render.print_json({"deleted": list(ids)})
    else:
        typer.echo(say("Deleted: {documents}", documents=counted(len(ids), "rating")))


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
    from ragkit.store.open import open_database
    from ragkit.store.people.feedback import Feedback

    settings = load_settings()
    with open_database(settings) as database:
        yield Feedback(
            database.pool,
            settings.tenant,
            settings.principal,
            keep_days=settings.serve_keep_days,
        )
