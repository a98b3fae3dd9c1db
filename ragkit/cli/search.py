"""`ragkit search`: passages for a query, for people and as JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

import typer

from ragkit.cli.as_of import AsOf, moment
from ragkit.cli.collection import SearchesIn
from ragkit.cli.mode import SearchMode
from ragkit.cli.output import SearchRequest
from ragkit.cli.output_values import print_outputs
from ragkit.cli.where import Where

if TYPE_CHECKING:
    from ragkit.knowledge.base import KnowledgeBase
    from ragkit.settings.settings import Settings


def search(
    query: Annotated[
        str,
        typer.Argument(help="What to search for; write -- before a query that begins with a dash."),
    ],
    k: Annotated[
        int | None,
        typer.Option("-k", help="Number of passages (default: the setting RAGKIT_TOP_K)."),
    ] = None,
    mode: SearchMode = "hybrid",
    collection: SearchesIn = None,
    where: Where = None,
    as_of: AsOf = None,
    expand: Annotated[
        Literal["none", "neighbours", "section", "parent"] | None,
        typer.Option(help="Text to show around each passage (default: the setting RAGKIT_EXPAND)."),
    ] = None,
    rerank: Annotated[
        bool | None,
        typer.Option(help="Use or skip the reranker (default: use it if RAGKIT_RERANKER is set)."),
    ] = None,
    trace: Annotated[
        bool, typer.Option("--trace", help="Print the steps of the search and their times.")
    ] = False,
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Find passages by meaning and by words."""
    from ragkit.knowledge.base import KnowledgeBase
    from ragkit.settings.settings import load_settings

    request = SearchRequest(query, collection, k, mode, where, as_of, json)
    settings = _changed(load_settings(), expand, rerank)
    with KnowledgeBase.open(settings, collection=collection) as kb:
        if trace:
            _print_traced(kb, request)
        else:
            print_outputs(request.output(kb))


def _print_traced(kb: KnowledgeBase, request: SearchRequest) -> None:
    from ragkit.answer.plain_text import hits_text
    from ragkit.cli import render

    kb = kb.adapted(where=request.where, as_of=moment(request.as_of))
    traced = kb.find(request.query, k=request.k, mode=request.mode)
    if request.as_json:
        trace = [render.stage_json(stage) for stage in traced.stages]
        render.print_json({"hits": [render.hit_json(hit) for hit in traced.hits], "trace": trace})
        return
    typer.echo(hits_text(request.query, traced.hits, traced.stages), nl=False)
    render.print_stages(traced.stages)


def _changed(settings: Settings, expand: str | None, rerank: bool | None) -> Settings:
    """Replace settings by options, for one search."""
    from ragkit.errors import SettingsError

    if rerank and settings.reranker is None:
        raise SettingsError("there is no reranker to use: set RAGKIT_RERANKER, such as to cosine")
    changes: dict[str, object] = {} if expand is None else {"expand": expand}
    if rerank is False:
        changes["reranker"] = None
    return settings.model_copy(update=changes)
