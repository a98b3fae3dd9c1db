"""`ragkit index`: what the vector index of a collection is, and building it anew."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

if TYPE_CHECKING:
    from rich.progress import Progress

    from ragkit.store.vectors import BuildProgress, State

_LINE_EVERY_S = 5.0  # arbitrary: where there is no terminal, a sign of life


def index(
    collection: Annotated[str | None, typer.Option(help="The collection to look at.")] = None,
    build: Annotated[bool, typer.Option("--build", help="Build the index anew.")] = False,
    kind: Annotated[
        Literal["auto", "none", "hnsw", "ivfflat"] | None,
        typer.Option(help="Build this one; RAGKIT_VECTOR_INDEX is for new collections."),
    ] = None,
    metric: Annotated[
        Literal["cosine", "ip", "l2"] | None, typer.Option(help="Build it for this distance.")
    ] = None,
    over: Annotated[
        Literal["halfvec", "vector", "bit"] | None, typer.Option(help="Build it over this type.")
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Show the vector index of a collection's embedding model, or build it anew.

    Searches and writes go on meanwhile. Collections of the same model share it, those of other
    tenants too, whose vectors are not counted.
    """
    if not build and (kind or metric or over):
        raise typer.BadParameter("--kind, --metric and --over go with --build")
    from ragkit import render
    from ragkit.errors import NotFoundError
    from ragkit.settings import load_settings
    from ragkit.store.inspect import own_vectors
    from ragkit.store.lending import transaction
    from ragkit.store.open import open_database
    from ragkit.store.vectors import build_index, relaid, state

    settings = load_settings()
    name = collection or settings.collection
    with open_database(settings) as database:
        space = database.store(settings.tenant).active_space(name)
        if space is None:
            raise NotFoundError(f"There is nothing in collection {name!r}: ingest into it first.")
        with database.owner() as conn:
            found = state(conn, space)
            if build:
                layout = relaid(found.table.layout, kind=kind, metric=metric, over=over)
                with build_display() as show:
                    build_index(conn, space, layout=layout, watch=database.owner, on_progress=show)
                found = state(conn, space)
        with transaction(database.pool, settings.tenant) as cursor:
            own, recent = own_vectors(cursor, found.table, settings.tenant)
    shown = _state_json(replace(found, vectors=own, recent=recent))
    if json:
        render.print_json({"collection": name} | shown)
    else:
        of_all = " of all tenants" if settings.tenants == "on" else ""
        rows = [
            [key.replace("_", " ") + of_all * key.endswith("bytes"), str(value)]
            for key, value in shown.items()
        ]
        render.print_table(["vector index", ""], rows, empty="")


def _state_json(found: State) -> dict[str, Any]:
    """Write a state, its vectors the tenant's and its bytes the whole table's."""
    table = found.table
    return {
        "dimensions": table.dimension,
        "type": table.layout.type,
        "metric": table.layout.metric,
        "index": table.layout.kind if table.indexed else "none",
        "over": table.form if table.indexed else "",
        "effort": table.effort,
        "vectors": found.vectors,
        "indexed": found.vectors - found.recent,
        "table_bytes": found.table_bytes,
        "index_bytes": found.index_bytes,
    }


@contextmanager
def build_display() -> Iterator[Callable[[BuildProgress], None]]:
    """Show progress on standard error: a bar on a terminal, a line now and then elsewhere."""
    from rich.console import Console
    from rich.progress import Progress

    disable = not sys.stderr.isatty()
    with Progress(console=Console(stderr=True), disable=disable, transient=True) as display:
        yield build_shown(display)


def build_shown(display: Progress) -> Callable[[BuildProgress], None]:
    """Give a display a bar that appears with a build; lines, where the display is disabled.

    A terminal holds one display at a time, so whoever shows more than a build has but one as well.
    """
    last = time.monotonic()
    task = display.add_task("Building", total=None, visible=False)

    def show(progress: BuildProgress) -> None:
        nonlocal last
        if progress.notice:
            print(f"ragkit: {progress.notice}", file=sys.stderr)  # noqa: T201
            return
        total = progress.total or None
        done, what = progress.done, progress.phase
        display.update(task, description=what, completed=done, total=total, visible=True)
        if display.disable and time.monotonic() - last >= _LINE_EVERY_S:
            last = time.monotonic()
            of = f": {progress.done:,} of {progress.total:,}" if progress.total else ""
            typer.echo(f"{progress.phase}{of}", err=True)

    return show
