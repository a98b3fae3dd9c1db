"""A sharing as the command line prints it: cells of a table, JSON, a sentence."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import typer

from ragkit.cli import render
from ragkit.cli.words import say

if TYPE_CHECKING:
    from ragkit.store.documents.sharing import Sharing


def sharing_json(sharing: Sharing) -> dict[str, Any]:
    return {
        "owner": sharing.owner,
        "readers": None if sharing.readers is None else list(sharing.readers),
    }


def sharing_cells(sharing: Sharing) -> list[str]:
    """Return the cells of a table: the owner, and the readers."""
    readers = say("everybody") if sharing.readers is None else ", ".join(sharing.readers)
    return [sharing.owner or "", readers or say("the owner alone")]


def tell(subject: str, key: dict[str, Any], sharing: Sharing, *, json: bool) -> None:
    """Print who owns a collection or document and who may read it."""
    if json:
        render.print_json(key | sharing_json(sharing))
        return
    if sharing.readers is None:
        readers = say("everybody may read it.")
    elif sharing.readers:
        readers = say("{names} may read it.", names=", ".join(sharing.readers))
    elif sharing.owner is None:
        readers = say("only operators may read it.")
    else:
        readers = say("only its owner may read it.")
    line = say("{name}: {text}", name=subject, text=readers)
    if sharing.owner:
        line += say(" Owner: {owner}.", owner=sharing.owner)
    typer.echo(line)
