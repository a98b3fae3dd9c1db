"""`ragkit index recall`: measure the vector index, and choose how hard to search it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ragkit.cli.index import CollectionOption
from ragkit.cli.where import Where

if TYPE_CHECKING:
    from ragkit.store.vectors.trial import Effort, Trial


def recall(
    questions: Annotated[
        Path | None,
        typer.Argument(
            help='File with one question a line, or JSON lines with "question" '
            "(default: stored passages)."
        ),
    ] = None,
    collection: CollectionOption = None,
    where: Where = None,
    k: Annotated[int, typer.Option("-k", min=1, max=1000, help="Number of passages to find.")] = 10,
    sample: Annotated[
        int, typer.Option(min=1, help="Number of stored passages to search with.")
    ] = 100,
    target: Annotated[
        float | None, typer.Option(min=0.01, max=1, help="Recall to reach, such as 0.98.")
    ] = None,
    keep: Annotated[
        bool, typer.Option("--set", help="Save the search effort that --target needs.")
    ] = False,
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Compare the vector index with exact search on your passages, questions and filters."""
    if keep and target is None:
        raise typer.BadParameter("--set goes with --target, such as --target 0.98")
    from ragkit.cli import render
    from ragkit.filters.tree import parse
    from ragkit.knowledge.base import KnowledgeBase
    from ragkit.settings.settings import load_settings
    from ragkit.upkeep.recall import chosen, embedded, measure_recall, read_questions, set_effort

    queries = None if questions is None else read_questions(questions)
    settings = load_settings()
    with KnowledgeBase.open(settings, collection=collection) as kb:
        assert kb.database is not None
        store = kb.database.store(settings.tenant)
        with _progress() as progress:
            tried = measure_recall(
                store,
                kb.collection,
                k=k,
                queries=None if queries is None else embedded(kb.embedder, queries),
                sampled=sample,
                where=None if where is None else parse(where),
                on_progress=progress,
            )
        least = None if target is None else chosen(tried, target)
        if keep and least is not None:
            set_effort(store, kb.collection, least.effort)
    if json:
        is_stored = keep and least is not None
        render.print_json(
            _trial_json(tried, least) | {"collection": kb.collection, "set": is_stored}
        )
    else:
        _print(tried, least, target, stored=keep)


def _trial_json(tried: Trial, least: Effort | None) -> dict[str, Any]:
    rounded = {name: value for name, value in asdict(tried).items() if name != "efforts"}
    return {
        **rounded,
        "exact_p50_ms": round(tried.exact_p50_ms, 3),
        "efforts": [_effort_json(effort) for effort in tried.efforts],
        "chosen": None if least is None else least.effort,
    }


def _effort_json(effort: Effort) -> dict[str, float]:
    return {name: round(value, 4) for name, value in asdict(effort).items()}


def _print(tried: Trial, least: Effort | None, target: float | None, *, stored: bool) -> None:
    from ragkit.cli import render

    typer.echo(
        f"{tried.queries} searches for {tried.k} passages; an exact one takes"
        f" {tried.exact_p50_ms:.2f} ms."
    )
    if not tried.efforts:
        nothing = " There is nothing to set." if stored else ""
        typer.echo(f"Every search here compares all passages: recall is 1.{nothing}")
        return
    name = "probes" if tried.index == "ivfflat" else "ef_search"
    rows = [
        [
            f"{effort.effort}{' (now)' if effort.effort == tried.now else ''}",
            f"{effort.recall:.3f}",
            f"{effort.p50_ms:.2f}",
            f"{effort.p95_ms:.2f}",
        ]
        for effort in tried.efforts
    ]
    columns = [name, f"recall@{tried.k}", "p50 ms", "p95 ms"]
    render.print_table(columns, rows, empty="")
    if least is not None:
        done = "; searches use it from now on." if stored else "; --set keeps it."
        typer.echo(f"Recall {target:g} needs {name} {least.effort}{done}")


@contextmanager
def _progress() -> Iterator[Callable[[int, int], None]]:
    """Show a bar on standard error, where that is a terminal."""
    from rich.console import Console
    from rich.progress import Progress

    console = Console(stderr=True)
    with Progress(console=console, disable=not console.is_terminal, transient=True) as bar:
        task = bar.add_task("Searching")
        yield lambda done, total: bar.update(task, completed=done, total=total)
