"""`ragkit search`: passages for a query, for people and as JSON."""

from typing import Annotated

import typer

from ragkit.types import Mode


def search(
    query: Annotated[str, typer.Argument(help="What to look for.")],
    k: Annotated[
        int | None, typer.Option("-k", help="How many passages; RAGKIT_TOP_K unless told.")
    ] = None,
    mode: Annotated[Mode, typer.Option(help="By meaning and words, or by one alone.")] = "hybrid",
    collection: Annotated[str | None, typer.Option(help="The collection to search.")] = None,
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Find passages by meaning and by words."""
    from ragkit import render
    from ragkit.knowledge import KnowledgeBase

    with KnowledgeBase.open(collection=collection) as kb:
        hits = kb.search(query, k=k, mode=mode)
    if json:
        render.print_json({"hits": [render.hit_json(hit) for hit in hits]})
    else:
        render.print_hits(hits)
