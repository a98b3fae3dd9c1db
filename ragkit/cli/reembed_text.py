"""Results of `ragkit index reembed` for people and as JSON, and its progress."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import typer

from ragkit.cli import render
from ragkit.embed.find import SERVED
from ragkit.text.printable import printable

if TYPE_CHECKING:
    from ragkit.settings.settings import Settings
    from ragkit.store.vectors.active_space import KeptSpace
    from ragkit.types import EmbeddingSpace
    from ragkit.upkeep.compare_spaces import Comparison, Side
    from ragkit.upkeep.reembed import Built, Progress

_LINE_EVERY_S = 5.0  # arbitrary: where there is no terminal, a sign of life


def print_status(collection: str, rows: Sequence[Mapping[str, Any]]) -> None:
    """Print the vectors that a collection has, of each model."""
    table = [
        [
            printable(row["name"]), row["revision"], str(row["dimension"]),
            row["state"], str(row["vectors"]), str(row["missing"]), _megabytes(row["bytes"]),
        ]
        for row in rows
    ]  # fmt: skip
    columns = ["model", "revision", "dimension", "state", "vectors", "missing", "size"]
    render.print_table(columns, table, empty=f"Collection {collection!r} has no vectors yet.")


def print_built(collection: str, built: Built, active: KeptSpace) -> None:
    """Print what was embedded, and how fast."""
    rate = f", {built.embedded / built.seconds:.0f} passages/s" if built.embedded else ""
    typer.echo(
        f"{built.embedded} passages embedded with {built.space.name} in"
        f" {built.seconds:.1f} s{rate}; every passage has its vector."
    )
    if built.long:
        typer.echo(
            f"{built.long} of them are longer than it reads: their vectors are the means of"
            " their windows'. Ingesting anew cuts them for it."
        )
    if built.space.id == active.id:
        typer.echo(f"Collection {collection!r} is searched with it already.")


def built_json(
    collection: str, built: Built, active: EmbeddingSpace, compared: Comparison | None
) -> dict[str, Any]:
    """Write what was embedded, and how it compares where it was compared."""
    return {
        "collection": collection,
        "from": space_json(active),
        "to": space_json(built.space.space),
        "embedded": built.embedded,
        "long": built.long,
        "seconds": round(built.seconds, 3),
        "comparison": None if compared is None else _comparison_json(compared),
    }


def print_switched(collection: str, space: KeptSpace, settings: Settings) -> None:
    """Print which model is searched with from now on, and a setting that says otherwise."""
    typer.echo(
        f"Collection {collection!r} is searched with {space.name} from now on,"
        f" {space.space.dimension} dimensions. --rollback undoes it, --drop ends that."
    )
    setting = _still_set(space.source, settings)
    if setting:
        typer.echo(f"{setting}: `ragkit ingest` refuses until it is unset or changed.")


def _still_set(source: str, settings: Settings) -> str:
    """Say which setting names another model than this one, or ""."""
    if settings.embed_url is not None and not source.startswith(SERVED):
        return "RAGKIT_EMBED_URL is still set"
    named = "embed_model" in settings.model_fields_set
    if named and source.removeprefix(SERVED) != settings.embed_model.removeprefix(SERVED):
        return f"RAGKIT_EMBED_MODEL is still {settings.embed_model}"
    return ""


def print_not_switched(collection: str, active: KeptSpace) -> None:
    typer.echo(
        f"Collection {collection!r} is still searched with {active.name}, {active.space.dimension}"
        " dimensions: the same command with --switch changes that, with --drop it deletes the new"
        " vectors."
    )


def print_dropped(space: KeptSpace, vectors: int, *, shared: bool) -> None:
    remark = "; other collections have vectors of that model" if shared else ""
    typer.echo(f"Deleted {vectors} vectors of {space.name}{remark}.")


def print_comparison(compared: Comparison | None) -> None:
    if compared is None:
        return
    subject = (
        "your questions" if compared.kind == "labelled" else "halves of the collection's sentences"
    )
    typer.echo(f"\nBoth models on {compared.questions} of {subject}, by vectors alone:")
    rows = [_side_row(side) for side in (compared.old, compared.new)]
    columns = ["model", "found in 10", "MRR@10", "p50", "size"]
    render.print_table(columns, rows, empty="")
    typer.echo(
        f"\nMRR@10 changes by {compared.difference:+.3f} (95% interval {compared.low:+.3f} to"
        f" {compared.high:+.3f}); of the first 10, {compared.overlap:.0%} are the same.\n"
    )


def _side_row(side: Side) -> list[str]:
    name = f"{side.name}, {side.space.dimension}"
    quality = [f"{side.found:.1%}", f"{side.reciprocal_rank:.3f}"]
    return [name, *quality, f"{side.p50_s * 1000:.1f} ms", _megabytes(side.bytes)]


def _comparison_json(compared: Comparison) -> dict[str, Any]:
    return {
        "kind": compared.kind,
        "questions": compared.questions,
        "old": _side_json(compared.old),
        "new": _side_json(compared.new),
        "difference": round(compared.difference, 4),
        "interval": [round(compared.low, 4), round(compared.high, 4)],
        "overlap": round(compared.overlap, 4),
    }


def _side_json(side: Side) -> dict[str, Any]:
    return {
        **space_json(side.space),
        "found": round(side.found, 4),
        "mrr": round(side.reciprocal_rank, 4),
        "p50_ms": round(side.p50_s * 1000, 3),
        "vectors": side.vectors,
        "bytes": side.bytes,
    }


def space_json(space: EmbeddingSpace) -> dict[str, Any]:
    return {"model": space.model, "revision": space.revision, "dimension": space.dimension}


def _megabytes(size: int) -> str:
    return f"{size / 1e6:.1f} MB"


@contextmanager
def progress_display() -> Iterator[Callable[[Progress], None]]:
    """Show progress on standard error: a bar on a terminal, lines elsewhere."""
    if not sys.stderr.isatty():
        yield _lines()
        return
    from rich.console import Console
    from rich.progress import Progress as Bar

    with Bar(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("passages", total=None)

        def show(progress: Progress) -> None:
            bar.update(task, completed=progress.done, total=progress.total)

        yield show


def _lines() -> Callable[[Progress], None]:
    last = time.perf_counter()

    def show(progress: Progress) -> None:
        nonlocal last
        if progress.embedded and time.perf_counter() - last >= _LINE_EVERY_S:
            last = time.perf_counter()
            rate = progress.embedded / max(progress.seconds, 1e-9)
            seconds_left = (progress.total - progress.done) / rate if rate else 0
            typer.echo(
                f"{progress.done} of {progress.total} passages, {rate:.0f} a second, about"
                f" {seconds_left:.0f} s left",
                err=True,
            )

    return show
