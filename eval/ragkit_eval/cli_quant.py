"""`ragkit eval quant`: what a quantized model costs beside the one it was made from."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ragkit.cli_collection import AnswersFrom

if TYPE_CHECKING:
    from ragkit.settings import Settings
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
    data: Annotated[
        Path | None,
        typer.Option(envvar="RAGKIT_EVAL_DATA", help="Folder with the data of the tasks."),
    ] = None,
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
    group: Annotated[
        list[str] | None,
        typer.Option(help="Only this group, such as an MMLU subject (repeatable)."),
    ] = None,
    metric: Annotated[
        list[str] | None, typer.Option(help="Compare only this metric (repeatable).")
    ] = None,
    concurrency: Annotated[
        int, typer.Option(min=1, max=256, help="Number of concurrent requests.")
    ] = 16,
    timeout_s: Annotated[
        float, typer.Option(min=0.001, help="Seconds allowed for one answer.")
    ] = 600.0,
    seed: Annotated[int, typer.Option(min=0, help="Random seed of requests and resamples.")] = 0,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Overwrite the run files.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Ask models the same items and say what the quantized ones lose: knowledge, grounding, speed.

    "serve:MODEL" and options of 'ragkit model serve', in one pair of quotation marks, starts that
    server for as long as it is asked, one after the other, so that one machine does for all. LABEL=
    before it or before a URL is how tables call it. The same command goes on with what was
    stopped; the run files stay for 'ragkit eval report'. Exit code 3 when items ended in errors.
    """
    import json

    from ragkit import render
    from ragkit.settings import load_settings
    from ragkit_eval.files import write_whole
    from ragkit_eval.quant import cost_text
    from ragkit_eval.quant.cost import costs
    from ragkit_eval.quant.models import parse
    from ragkit_eval.quant.run import Manner, folder_for, run_models

    models = [parse(text) for text in (base, *candidates)]
    folder = folder_for(out, models)
    settings = load_settings()
    questions = _questions(
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
    asked = run_models(
        models,
        questions,
        manner,
        on_model=lambda line: typer.echo(render.printable(line), err=True),
    )
    found = costs([one.run for one in asked], metric, seed=seed)
    paths = [str(path) for one in asked for path in one.files]
    values = cost_text.as_json(found, paths)
    if folder is not None:
        write_whole(folder / "quant.md", cost_text.markdown(found, paths))
        write_whole(folder / "quant.json", json.dumps(values, ensure_ascii=False, indent=2) + "\n")
    if as_json:
        render.print_json(values)
    else:
        typer.echo(f"Base: {render.printable(found.base)}\n")
        render.print_table(cost_text.COLUMNS, list(cost_text.rows(found)), empty="")
        typer.echo("")
        for line in cost_text.sentences(found):
            typer.echo(render.printable(line))
        if folder is not None:
            typer.echo(f"Written: {folder / 'quant.md'}, {folder / 'quant.json'}")
        typer.echo(f"Runs: {' '.join(paths)}")
    if any(counted.errors for counted in found.comparison.coverage):
        raise typer.Exit(3)


def _questions(
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
    from ragkit_eval.quant.run import Questions
    from ragkit_eval.rag.options import opened

    chosen = []
    if tasks:
        from ragkit_eval.tasks.registry import open_task

        chosen = [open_task(name, data=data, limit=limit, groups=groups) for name in tasks]
    if not sets:
        return Questions(tuple(chosen))
    labelled, name = opened(sets, settings, collection, documents=documents, out=None)
    return Questions(tuple(chosen), labelled.limited(limit), name)
