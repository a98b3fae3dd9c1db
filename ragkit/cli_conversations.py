"""`ragkit conversations`: list, show, rename and delete conversations; ratings of answers."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated

import typer

from ragkit import render
from ragkit.cli_confirm import confirm
from ragkit.cli_feedback import feedback
from ragkit.settings import load_settings

if TYPE_CHECKING:
    from ragkit.store.conversations import Conversations

app = typer.Typer(
    help="List, show, rename and delete conversations; list the ratings of answers.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
)
IdArgument = Annotated[
    str, typer.Argument(metavar="ID", help="The conversation's id, or its first characters.")
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON.")]

app.command()(feedback)


@app.command("list")
def list_(json: JsonOption = False) -> None:
    """List your conversations, the latest first."""
    from ragkit.conversation.export import listed

    with _mine() as mine:
        found = [listed(stored) for stored in mine.all()]
    if json:
        render.print_json({"conversations": found})
        return
    columns = ["id", "title", "collection", "turns", "updated_at"]
    rows = [[str(one[column]) for column in columns] for one in found]
    render.print_table(columns, rows, empty="There are no conversations yet.")


@app.command()
def show(
    id: IdArgument,
    markdown: Annotated[
        bool, typer.Option("--markdown", help="Print Markdown, citations included.")
    ] = False,
    json: Annotated[bool, typer.Option("--json", help="Print JSON, citations included.")] = False,
) -> None:
    """Print a conversation's questions and answers."""
    from ragkit.conversation.export import to_json, to_markdown
    from ragkit.conversation.screen import print_turns
    from ragkit.errors import UsageError

    if markdown and json:
        raise UsageError("--json and --markdown exclude each other: give one of them")
    with _mine() as mine:
        stored = mine.get(mine.find(id))
        turns = mine.turns(stored.id)
    if json:
        render.print_json(to_json(stored, turns))
        return
    if markdown:
        typer.echo(to_markdown(stored, turns), nl=False)
        return
    typer.echo(f"{render.printable(stored.title)}\n{stored.id}, collection {stored.collection!r}\n")
    print_turns(turns)


@app.command()
def rename(
    id: IdArgument,
    title: Annotated[str, typer.Argument(metavar="TITLE", help="What to call it.")],
    json: JsonOption = False,
) -> None:
    """Give a conversation another title."""
    from ragkit.conversation.export import listed

    with _mine() as mine:
        number = mine.find(id)
        mine.rename(number, title)
        stored = mine.get(number)
    if json:
        render.print_json(listed(stored))
    else:
        typer.echo(f"{stored.id} is now called {render.printable(stored.title)!r}.")


@app.command()
def delete(
    ids: Annotated[
        list[str] | None,
        typer.Argument(metavar="ID...", help="The conversations' ids, or their first characters."),
    ] = None,
    all_: Annotated[bool, typer.Option("--all", help="Delete every one of yours.")] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    json: JsonOption = False,
) -> None:
    """Delete conversations with everything in them."""
    from ragkit.errors import UsageError

    if bool(ids) == all_:
        raise UsageError("nothing was deleted: give conversations' ids, or --all")
    with _mine() as mine:
        found = (
            [stored.id for stored in mine.all()] if all_ else [mine.find(id) for id in ids or ()]
        )
        found = list(dict.fromkeys(found))
        if all_ and found and not yes:
            confirm(f"Delete all your {len(found)} conversations?")
        if all_:
            mine.delete_all()
        for number in () if all_ else found:
            mine.delete(number)
    if json:
        render.print_json({"deleted": [str(number) for number in found]})
    else:
        typer.echo(f"Deleted {len(found)} conversation{'s' * (len(found) != 1)}.")


@contextmanager
def _mine() -> Iterator[Conversations]:
    """Open the conversations of the settings' principal."""
    from ragkit.store.conversations import Conversations
    from ragkit.store.open import open_database

    settings = load_settings()
    with open_database(settings) as database:
        yield Conversations(database.pool, settings.tenant, settings.principal)
