"""A sharing as the command line prints it: cells of a table, JSON, a sentence."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import typer

from ragkit import render
from ragkit.words import say

if TYPE_CHECKING:
    from ragkit.store.sharing import Sharing


def sharing_json(sharing: Sharing) -> dict[str, Any]:
    return {
        "owner": sharing.owner,
        "readers": None if sharing.readers is None else list(sharing.readers),
    }


def shown(sharing: Sharing) -> list[str]:
    """Return the cells of a table: the owner, and the readers."""
    readers = say("everybody") if sharing.readers is None else ", ".join(sharing.readers)
    return [sharing.owner or "", readers or say("the owner alone")]


def tell(what: str, key: dict[str, Any], sharing: Sharing, *, json: bool) -> None:
    """Print what has become of a sharing."""
    if json:
        render.print_json(key | sharing_json(sharing))
        return
    owner = f" {sharing.owner} owns it." if sharing.owner else ""
    if sharing.readers is None:
        typer.echo(f"{what}: the whole tenant may read it.{owner}")
    elif sharing.readers:
        who = "They" if sharing.owner is None else "They and the owner"
        typer.echo(f"{what}: shared with {', '.join(sharing.readers)}. {who} may read it.{owner}")
    else:
        nobody = "only operators" if sharing.owner is None else "only its owner"
        typer.echo(f"{what}: {nobody} may read it.{owner}")
