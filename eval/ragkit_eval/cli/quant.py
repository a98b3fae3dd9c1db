"""`ragkit eval quant`: measure what quantization costs a model."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ragkit.cli.collection import AnswersFrom
from ragkit.text.printable import printable
from ragkit_eval.cli.options import DataFolder, Groups, JsonOption, Metrics, OverwriteRuns

if TYPE_CHECKING:
    from ragkit.settings.settings import Settings
    from ragkit_eval.quant.cost import Costs
    from ragkit_eval.quant.run import Questions


def quant(
    base: Annotated[
        str, typer.Argument(help="URL#MODEL of a server, serve:MODEL to start one, or a run file.")
    ],
    candidates: Annotated[
        list[str], typer.Argument(metavar="CANDIDATE...", help="The same for quantized models.")
    ],
    out: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Folder for run files, quant.md and quant.json."),
    ] = None,
    task: Annotated[
        list[str] | None, typer.Option(help="Task, such as mmlu or gsm8k (repeatable).")
    ] = None,
    data: DataFolder = None,
    rag: Annotated[
        list[Path] | None,
        typer.Option(metavar="SET", help="Labelled set for grounded answers (repeatable)."),
    ] = None,
    collection: AnswersFrom = None,
    documents: Annotated[
        bool, typer.Option("--documents", help="Ingest the documents of the sets first.")
    ] = False,
    limit: Annotated[
        int | None,
        typer.Option(min=1, help="Maximum number of items of each task; the same for all models."),
    ] = None,
    group: Groups = None,
    metric: Metrics = None,
    concurrency: Annotated[
        int, typer.Option(min=1, max=256, help="Number of concurrent requests.")
    ] = 16,
    timeout_s: Annotated[
        float, typer.Option(min=0.001, help="Seconds allowed for one answer.")
    ] = 600.0,
    seed: Annotated[int, typer.Option(min=0, help="Random seed of requests and resamples.")] = 0,
    overwrite: OverwriteRuns = False,
    as_json: JsonOption = False,
) -> None:
    """Ask models the same items and report what quantization costs: knowledge, grounding, speed.

    "serve:MODEL" with options of 'ragkit model serve', in one pair of quotation marks, starts that
    server while its items are asked; servers run one after the other, so that one machine is
    enough. LABEL= before it or before a URL is the model's name in tables. The same command
    continues a run that was stopped; 'ragkit eval report' reads the run files. Exit code 3 when
    items ended in errors.
    """
    from ragkit.settings.settings import load_settings
    from ragkit_eval.quant.cost import costs
    from ragkit_eval.quant.models import parse
    from ragkit_eval.quant.run import Manner, folder_for, run_models

    models = [parse(text) for text in (base, *candidates)]
    folder = folder_for(out, models)
    settings = load_settings()
    questions = _open_questions(
        settings, task or (), group or (), data, rag or (), collection, limit, documents=documents
    )
    manner = Manner(
        folder or Path(),
        settings,
        concurrency=concurrency,
        timeout_s=timeout_s,
        seed=seed,
        overwrite=overwrite,
        quiet=as_json,
    )
    measured = run_models(
        models,
        questions,
        manner,
        on_model=lambda line: typer.echo(printable(line), err=True),
    )
    result = costs([model.run for model in measured], metric, seed=seed)
    paths = [str(path) for model in measured for path in model.files]
    _write(result, paths, folder, json=as_json)
    if any(coverage.errors for coverage in result.comparison.coverage):
        raise typer.Exit(3)


def _write(result: Costs, paths: Sequence[str], folder: Path | None, *, json: bool) -> None:
    """Write the result to the folder, and print it."""
    from json import dumps

    from ragkit.cli import render
    from ragkit_eval.quant import cost_text
    from ragkit_eval.run.files import write_whole

    values = cost_text.as_json(result, paths)
    if folder is not None:
        write_whole(folder / "quant.md", cost_text.markdown(result, paths))
        write_whole(folder / "quant.json", dumps(values, ensure_ascii=False, indent=2) + "\n")
    if json:
        render.print_json(values)
        return
    typer.echo(f"Base: {printable(result.base)}\n")
    render.print_table(cost_text.COLUMNS, list(cost_text.rows(result)), empty="")
    typer.echo("")
    for line in cost_text.sentences(result):
        typer.echo(printable(line))
    if folder is not None:
        typer.echo(f"Written: {folder / 'quant.md'}, {folder / 'quant.json'}")
    typer.echo(f"Runs: {' '.join(paths)}")


def _open_questions(
    settings: Settings,
    tasks: Sequence[str],
    groups: Sequence[str],
    data: Path | None,
    sets: Sequence[Path],
    collection: str | None,
    limit: int | None,
    *,
    documents: bool,
) -> Questions:
    """Open the tasks, and the labelled sets with their collection."""
    from ragkit_eval.quant.run import Questions
    from ragkit_eval.rag.command import open_sets

    chosen = []
    if tasks:
        from ragkit_eval.tasks.registry import open_task

        chosen = [open_task(name, data=data, limit=limit, groups=groups) for name in tasks]
    if not sets:
        return Questions(tuple(chosen))
    labelled, name = open_sets(sets, settings, collection, documents=documents, out=None)
    return Questions(tuple(chosen), labelled.limited(limit), name)
