"""Options and steps that `ragkit eval retrieval` and `ragkit eval rag` share."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from ragkit.knowledge.base import KnowledgeBase
    from ragkit.settings.settings import Settings
    from ragkit_eval.rag.summary import RagSummary
    from ragkit_eval.sets import LabelledSet

Sets = Annotated[
    list[Path],
    typer.Argument(
        metavar="SET",
        help="Labelled sets: ragkit's own JSON lines, BEIR folders, SQuAD or CLAPNQ files.",
    ),
]
CollectionOption = Annotated[
    str | None, typer.Option("--collection", "-c", metavar="NAME", help="Collection to ask.")
]
WithModel = Annotated[
    str | None,
    typer.Option(
        "--with-model",
        metavar="MODEL",
        help="Search with this embedding model's vectors, which `ragkit index reembed --to MODEL`"
        " built beside the collection's own.",
    ),
]
Documents = Annotated[
    bool,
    typer.Option("--documents", help="Ingest the documents of the sets first, if necessary."),
]
Limit = Annotated[
    int | None,
    typer.Option(min=1, metavar="N", help="Maximum number of questions; always the same ones."),
]
Out = Annotated[
    Path | None,
    typer.Option(metavar="RUN.jsonl", help="Run file to write, or to continue."),
]
Overwrite = Annotated[bool, typer.Option("--overwrite", help="Overwrite the run file.")]
Label = Annotated[str, typer.Option(metavar="TEXT", help="Name of the run in tables and plots.")]
Concurrency = Annotated[
    int | None,
    typer.Option(
        min=1,
        max=256,
        metavar="N",
        help="Number of concurrent questions (default: 1; with a language model 8).",
    ),
]


def open_sets(
    paths: Sequence[Path],
    settings: Settings,
    collection: str | None,
    *,
    documents: bool,
    out: Path | None = None,
) -> tuple[LabelledSet, str]:
    """Read the sets, ingest their documents if requested, and name the collection.

    Errors that would come only at the end, such as an unwritable run file, are raised first.
    """
    from ragkit_eval.rag.documents import collection_for, ingest_documents
    from ragkit_eval.run.files import check_folder
    from ragkit_eval.sets import joined, read_set

    if out is not None:
        check_folder(out)
    labelled = joined([read_set(path) for path in paths])
    if not documents:
        return labelled, collection or settings.collection
    collection = collection or collection_for(labelled)
    added = ingest_documents(labelled, settings, collection)
    typer.echo(
        f"{_describe_ingested(added, len(labelled.documents))} collection {collection!r};"
        f" 'ragkit collections delete {collection}' removes them",
        err=True,
    )
    return labelled, collection


def open_knowledge(settings: Settings, collection: str, model: str | None) -> KnowledgeBase:
    """Open a collection for search with its own embedding model, or with another one."""
    if model is None:
        from ragkit.knowledge.base import KnowledgeBase

        return KnowledgeBase.open(settings, collection=collection)
    from ragkit.upkeep.other_space import open_with_model

    return open_with_model(settings, collection, model)


def _describe_ingested(added: int, total: int) -> str:
    """Write how many of a set's documents were ingested, and how many were unchanged."""
    noun = "1 document" if total == 1 else f"{total} documents"
    if not added:
        return f"{noun}, all unchanged, in" if total > 1 else f"{noun}, unchanged, in"
    unchanged = f", {total - added} unchanged," if added < total else ""
    return f"{added} of {noun} ingested{unchanged} into"


def finish_run(
    summary: RagSummary,
    *,
    out: Path | None,
    json: bool,
    notes: Sequence[str] = (),
    warnings: Sequence[str] = (),
) -> None:
    """Print the summary; exit code 3 when some questions ended in an error, 1 when all did.

    `warnings` are notes that were printed on standard error already: only the JSON repeats them.
    """
    from ragkit.cli import render
    from ragkit_eval.rag.printing import print_summary

    if json:
        run = None if out is None else str(out)
        render.print_json({"run": run, "notes": [*warnings, *notes], **summary.as_json()})
    else:
        print_summary(summary, out=out, notes=list(notes))
    if summary.scores.errors:
        raise typer.Exit(3 if summary.scores.answered else 1)
