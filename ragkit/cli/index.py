"""`ragkit index`: show a collection's vector index, and build it anew."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from ragkit.cli.lazy import Entry, lazy_group
from ragkit.cli.words import say

if TYPE_CHECKING:
    from rich.progress import Progress

    from ragkit.settings.settings import Settings
    from ragkit.store.open import Database
    from ragkit.store.vectors import BuildProgress, State
    from ragkit.types import EmbeddingSpace

_LINE_EVERY_S = 5.0  # arbitrary: where there is no terminal, a sign of life


COMMANDS = {
    "show": Entry("ragkit.cli.index:show", "Show the vector index of a collection."),
    "build": Entry("ragkit.cli.index:build", "Rebuild the vector index, or change its kind."),
    "recall": Entry(
        "ragkit.cli.recall:recall", "Compare the vector index with exact search, and tune it."
    ),
    "reembed": Entry(
        "ragkit.cli.reembed:reembed", "Move a collection to another embedding model, and back."
    ),
}
app = typer.Typer(
    add_completion=False,
    cls=lazy_group(COMMANDS),
    help="Show, build and tune the vector index; change the embedding model.",
    no_args_is_help=True,
    rich_markup_mode=None,
)
CollectionOption = Annotated[
    str | None, typer.Option("--collection", "-c", help="Collection whose index to use.")
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON.")]


@app.callback()
def _index() -> None:
    """Show, build and tune the vector index; change the embedding model."""


def show(collection: CollectionOption = None, json: JsonOption = False) -> None:
    """Show the vector index of a collection's embedding model.

    Collections with the same model share the index, also across tenants; vectors of other
    tenants are not counted.
    """
    with _opened(collection) as (name, settings, database, space):
        _print(name, settings, database, space, json=json)


def build(
    collection: CollectionOption = None,
    kind: Annotated[
        Literal["auto", "none", "hnsw", "ivfflat"] | None,
        typer.Option(
            help="Kind of index to build; the setting RAGKIT_VECTOR_INDEX "
            "applies to new collections."
        ),
    ] = None,
    metric: Annotated[
        Literal["cosine", "ip", "l2"] | None, typer.Option(help="Distance that the index uses.")
    ] = None,
    over: Annotated[
        Literal["halfvec", "vector", "bit"] | None,
        typer.Option(help="Vector type that the index stores."),
    ] = None,
    json: JsonOption = False,
) -> None:
    """Rebuild the vector index of a collection's embedding model.

    Searches and writes continue meanwhile. Collections with the same model share the index.
    """
    from ragkit.store.vectors import build_index, relaid, state

    with _opened(collection) as (name, settings, database, space):
        with database.owner() as conn:
            layout = relaid(state(conn, space).table.layout, kind=kind, metric=metric, over=over)
            with build_display() as display:
                build_index(conn, space, layout=layout, watch=database.owner, on_progress=display)
        _print(name, settings, database, space, json=json)


@contextmanager
def _opened(collection: str | None) -> Iterator[tuple[str, Settings, Database, EmbeddingSpace]]:
    """Open the database, and find the collection's embedding space. Raises NotFoundError."""
    from ragkit.errors import NotFoundError
    from ragkit.settings.settings import load_settings
    from ragkit.store.open import open_database

    settings = load_settings()
    name = collection or settings.collection
    with open_database(settings) as database:
        space = database.store(settings.tenant).active_space(name)
        if space is None:
            raise NotFoundError(f"Collection {name!r} has no documents: run `ragkit ingest` first.")
        yield name, settings, database, space


def _print(
    name: str, settings: Settings, database: Database, space: EmbeddingSpace, *, json: bool
) -> None:
    from ragkit.cli import render
    from ragkit.store.admin.inspect import own_vectors
    from ragkit.store.session import open_session
    from ragkit.store.vectors import state

    with database.owner() as conn:
        index = state(conn, space)
    with open_session(database.pool, settings.tenant) as session:
        vectors, recent = own_vectors(session, index.table)
    described = _state_json(replace(index, vectors=vectors, recent=recent))
    if json:
        render.print_json({"collection": name} | described)
        return
    of_all = say(" of all tenants") if settings.tenants == "on" else ""
    rows = [
        [say(key.replace("_", " ")) + of_all * key.endswith("bytes"), str(value)]
        for key, value in described.items()
    ]
    render.print_table([say("vector index"), ""], rows, empty="")


def _state_json(state: State) -> dict[str, Any]:
    """Return a state as JSON: the tenant's vectors, the whole table's bytes."""
    table = state.table
    return {
        "dimensions": table.dimension,
        "type": table.layout.type,
        "metric": table.layout.metric,
        "index": table.layout.kind if table.indexed else "none",
        "over": table.form if table.indexed else "",
        "effort": table.effort,
        "vectors": state.vectors,
        "indexed": state.vectors - state.recent,
        "table_bytes": state.table_bytes,
        "index_bytes": state.index_bytes,
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

    A terminal holds one display at a time, so callers that show more share theirs.
    """
    last = time.monotonic()
    task = display.add_task("Building", total=None, visible=False)

    def show(progress: BuildProgress) -> None:
        nonlocal last
        if progress.notice:
            print(f"ragkit: {progress.notice}", file=sys.stderr)  # noqa: T201
            return
        total = progress.total or None
        done, phase = progress.done, progress.phase
        display.update(task, description=phase, completed=done, total=total, visible=True)
        if display.disable and time.monotonic() - last >= _LINE_EVERY_S:
            last = time.monotonic()
            counts = f": {progress.done:,} / {progress.total:,}" if progress.total else ""
            typer.echo(f"{progress.phase}{counts}", err=True)

    return show
