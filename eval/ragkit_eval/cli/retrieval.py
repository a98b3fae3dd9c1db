"""`ragkit eval retrieval`: score a collection's search on a labelled set."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from ragkit.cli.mode import SearchMode
from ragkit_eval.cli.options import JsonOption
from ragkit_eval.rag import command as o

if TYPE_CHECKING:
    from ragkit_eval.rag.search_task import RetrievalTask


def retrieval(
    sets: o.Sets,
    collection: o.CollectionOption = None,
    with_model: o.WithModel = None,
    documents: o.Documents = False,
    mode: SearchMode = "hybrid",
    k: Annotated[
        int,
        typer.Option(
            "-k", "--k", min=1, max=1000, metavar="N", help="Number of passages to search for."
        ),
    ] = 50,
    measure: Annotated[
        list[str] | None,
        typer.Option(
            "--measure",
            "-m",
            metavar="NAME",
            help="Measure, such as ndcg@10 or span_recall@5 (repeatable).",
        ),
    ] = None,
    limit: o.Limit = None,
    out: o.Out = None,
    overwrite: o.Overwrite = False,
    label: o.Label = "",
    concurrency: o.Concurrency = None,
    json: JsonOption = False,
) -> None:
    """Score what a collection finds: documents, spans, accepted answers.

    Exit code 3 when some questions could not be searched with: they count 0.
    """
    from ragkit.settings.settings import load_settings
    from ragkit_eval.rag.ask import search_ask
    from ragkit_eval.rag.labels import locate
    from ragkit_eval.rag.languages import language_notes, print_notes
    from ragkit_eval.rag.model import model_of
    from ragkit_eval.rag.passages import check_depths, check_measures
    from ragkit_eval.rag.search_task import retrieval_task
    from ragkit_eval.rag.summary import sum_up
    from ragkit_eval.rag.task_run import run_task

    check_measures(measure or ())
    check_depths(measure or ())
    settings = load_settings()
    labelled, name = o.open_sets(sets, settings, collection, documents=documents, out=out)
    with o.open_knowledge(settings, name, with_model) as opened:
        kb = opened.adapted(mode=mode)
        uris = locate(labelled, kb.store, kb.collection)
        warnings = print_notes(language_notes(labelled.limited(limit), uris, kb))
        task = retrieval_task(labelled.limited(limit), measure or (), uris=uris)
        run = run_task(
            task,
            search_ask(kb, k=k),
            model_of(kb, generator="search", passages=k, notes=warnings),
            out,
            concurrency=concurrency or 1,
            label=label,
            overwrite=overwrite,
            quiet=False,
        )
    o.finish_run(sum_up(run), out=out, warnings=warnings, notes=_list_notes(task), json=json)


def _list_notes(task: RetrievalTask) -> list[str]:
    if not task.left_out:
        return []
    count = f"{task.left_out} question{'s' * (task.left_out != 1)} left out"
    return [f"{count}: unanswerable, or without a label that {task.metric} needs"]
