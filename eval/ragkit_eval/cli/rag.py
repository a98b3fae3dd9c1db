"""`ragkit eval rag`: score answers of a collection on a labelled set."""

from dataclasses import asdict
from typing import Annotated

import typer

from ragkit.cli.mode import SearchMode
from ragkit_eval.cli.options import JsonOption
from ragkit_eval.rag import command as o
from ragkit_eval.run.item import Task


def rag(
    sets: o.Sets,
    collection: o.CollectionOption = None,
    with_model: o.WithModel = None,
    documents: o.Documents = False,
    mode: SearchMode = "hybrid",
    passages: Annotated[
        int | None,
        typer.Option(
            min=1, max=100, metavar="N", help="Number of passages for an answer (default: 5)."
        ),
    ] = None,
    metric: Annotated[
        list[str] | None,
        typer.Option(
            "--metric",
            "-m",
            metavar="NAME",
            help="Additional text metric, such as rouge-l (repeatable).",
        ),
    ] = None,
    judge: Annotated[
        str | None,
        typer.Option(
            metavar="NAME", help="Additional judge: llm, llm:faithfulness, or MODULE:ATTRIBUTE."
        ),
    ] = None,
    limit: o.Limit = None,
    out: o.Out = None,
    overwrite: o.Overwrite = False,
    label: o.Label = "",
    concurrency: o.Concurrency = None,
    json: JsonOption = False,
) -> None:
    """Score whole answers: against references, by their citations, and when they refuse.

    Exit code 3 when some questions ended in an error: they count 0.
    """
    from ragkit.knowledge import build
    from ragkit.prompts.templates import Templates
    from ragkit.settings.settings import load_settings
    from ragkit_eval.judge import judged_ask, open_judge, with_judge
    from ragkit_eval.metrics.registry import text_metric
    from ragkit_eval.rag.answer_task import rag_task
    from ragkit_eval.rag.ask import knowledge_ask
    from ragkit_eval.rag.labels import locate
    from ragkit_eval.rag.languages import language_notes, print_notes
    from ragkit_eval.rag.model import fitted_cutoff, model_of
    from ragkit_eval.rag.summary import sum_up
    from ragkit_eval.rag.task_run import run_task

    for spec in metric or ():
        text_metric(spec)
    settings = load_settings()
    judging = None if judge is None else open_judge(judge, settings)
    labelled, name = o.open_sets(sets, settings, collection, documents=documents, out=out)
    model = build.language_model(settings)
    with o.open_knowledge(settings, name, with_model) as opened:
        kb = opened.adapted(mode=mode, passages=passages)
        kb.load_entailment()  # fails here once, not for each question
        uris = locate(labelled, kb.store, kb.collection)
        warnings = print_notes(language_notes(labelled.limited(limit), uris, kb))
        task: Task = rag_task(labelled.limited(limit), metrics=metric or (), uris=uris)
        ask = knowledge_ask(kb)
        if judging is not None:
            task, ask = with_judge(task, judging), judged_ask(ask, judging)
        run = run_task(
            task,
            ask,
            model_of(
                kb,
                generator=model.name if model else "extractive",
                templates=Templates(settings.prompts, kb.collection) if model else None,
                cutoff=fitted_cutoff(kb),
                decoding=asdict(build.decoding(settings)) if model else None,
                nli_model=settings.nli_model,
                notes=warnings,
            ),
            out,
            concurrency=concurrency or (8 if model else 1),
            label=label,
            overwrite=overwrite,
            quiet=False,
        )
    o.finish_run(sum_up(run), out=out, warnings=warnings, json=json)
