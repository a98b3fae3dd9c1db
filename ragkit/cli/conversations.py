"""`ragkit conversations`: list, show, rename and delete conversations; ratings of answers."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated

import typer

from ragkit.cli import render
from ragkit.cli.confirm import YesOption, confirm
from ragkit.cli.feedback import feedback
from ragkit.cli.words import counted, say
from ragkit.settings.settings import load_settings
from ragkit.text.printable import printable, printable_line

if TYPE_CHECKING:
    from ragkit.store.people.conversations import Conversations

app = typer.Typer(
    help="List, show, rename and delete conversations; list the ratings of answers.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
)
IdArgument = Annotated[
    str, typer.Argument(metavar="ID", help="Id of the conversation, or its first characters.")
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON.")]

app.command()(feedback)


@app.command("list")
def list_(json: JsonOption = False) -> None:
    """List your conversations, newest first."""
    from ragkit.conversation.export import listed

    with _open_conversations() as conversations:
        stored = [listed(row) for row in conversations.all()]
    if json:
        render.print_json({"conversations": stored})
        return
    columns = {"id": "id", "title": "title", "collection": "collection", "questions": "turns"}
    columns["last used"] = "updated_at"
    rows = [[str(item[field]) for field in columns.values()] for item in stored]
    heads = [say(column) for column in columns]
    render.print_table(heads, rows, empty=say("There are no conversations yet."))


@app.command()
def show(
    id: IdArgument,
    markdown: Annotated[
        bool, typer.Option("--markdown", help="Print Markdown with citations.")
    ] = False,
    json: Annotated[bool, typer.Option("--json", help="Print JSON with citations.")] = False,
) -> None:
    """Print the questions and answers of a conversation."""
    from ragkit.cli.conversation_text import print_turns
    from ragkit.conversation.export import to_json, to_markdown
    from ragkit.errors import UsageError

    if markdown and json:
        raise UsageError("give --json or --markdown, not both")
    with _open_conversations() as conversations:
        stored = conversations.get(conversations.find(id))
        turns = conversations.turns(stored.id)
    if json:
        render.print_json(to_json(stored, turns))
        return
    if markdown:
        typer.echo(to_markdown(stored, turns), nl=False)
        return
    line = say("{id}, collection {name!r}", id=stored.id, name=stored.collection)
    typer.echo(f"{printable(stored.title)}\n{line}\n")
    print_turns(turns)


@app.command()
def rename(
    id: IdArgument,
    title: Annotated[str, typer.Argument(metavar="TITLE", help="New title.")],
    json: JsonOption = False,
) -> None:
    """Change the title of a conversation."""
    from ragkit.conversation.export import listed

    with _open_conversations() as conversations:
        number = conversations.find(id)
        conversations.rename(number, title)
        stored = conversations.get(number)
    if json:
        render.print_json(listed(stored))
    else:
        text = "Conversation {id} is now called “{title}”."
        title = printable_line(stored.title)
        typer.echo(say(text, id=str(stored.id)[:8], title=title))


@app.command()
def delete(
    ids: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="ID...", help="Ids of the conversations, or their first characters."
        ),
    ] = None,
    all_: Annotated[bool, typer.Option("--all", help="Delete all your conversations.")] = False,
    yes: YesOption = False,
    json: JsonOption = False,
) -> None:
    """Delete conversations with everything in them."""
    from ragkit.errors import UsageError

    if bool(ids) == all_:
        raise UsageError("name the conversations to delete by their ids, or give --all")
    with _open_conversations() as conversations:
        selected = (
            [stored.id for stored in conversations.all()]
            if all_
            else [conversations.find(id) for id in ids or ()]
        )
        selected = list(dict.fromkeys(selected))
        if all_ and selected and not yes:
            question = "Delete all your conversations ({number})?"
            confirm(say(question, number=counted(len(selected), "conversation")))
        if all_:
            conversations.delete_all()
        for number in () if all_ else selected:
            conversations.delete(number)
    if json:
        render.print_json({"deleted": [str(number) for number in selected]})
    else:
        typer.echo(say("Deleted: {documents}", documents=counted(len(selected), "conversation")))


@contextmanager
def _open_conversations() -> Iterator[Conversations]:
    """Open the conversations of the settings' principal."""
    from ragkit.store.open import open_database
    from ragkit.store.people.conversations import Conversations

    settings = load_settings()
    with open_database(settings) as database:
        yield Conversations(database.pool, settings.tenant, settings.principal)
