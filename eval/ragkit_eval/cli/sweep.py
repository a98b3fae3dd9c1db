"""`ragkit eval sweep`: find better options on your own questions, and confirm them."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ragkit.text.printable import printable
from ragkit_eval.cli.options import JsonOption, OverwriteRuns

if TYPE_CHECKING:
    from ragkit_eval.sweep.run import SweepResult


def sweep(
    sets: Annotated[
        list[Path],
        typer.Argument(metavar="SET...", help="Labelled sets, as for 'ragkit eval rag'."),
    ],
    grid: Annotated[
        Path, typer.Option(metavar="FILE.toml", help="Options to try, as described above.")
    ],
    out: Annotated[Path, typer.Option(metavar="DIR", help="Folder for the run files.")],
    collection: Annotated[
        str | None, typer.Option("--collection", "-c", help="Collection to ask.")
    ] = None,
    limit: Annotated[
        int | None, typer.Option(min=4, help="Maximum number of questions; always the same ones.")
    ] = None,
    seed: Annotated[
        int, typer.Option(min=0, help="Random seed of the halves and the resamples.")
    ] = 0,
    concurrency: Annotated[
        int | None, typer.Option(min=1, max=256, help="Number of concurrent questions.")
    ] = None,
    overwrite: OverwriteRuns = False,
    as_json: JsonOption = False,
) -> None:
    """Try a grid of options, choose on one half of the questions, confirm on the other.

    The grid is a TOML file: task = "retrieval" or "answers"; metric, by default the task's;
    documents = ["folder"], ingested into new collections, as are a set's documents without
    --collection; and under [grid] each option with its values, the first one being the baseline:
    mode, passages, refusal_threshold, instructions, chunk_tokens, chunk_overlap_tokens,
    embed_model, and settings such as llm_model or llm_temperature. The same command continues a
    sweep that was stopped. Exit code 3 when questions ended in errors.
    """
    from ragkit.settings.settings import load_settings
    from ragkit_eval.sets import joined, read_set
    from ragkit_eval.sweep.grid import read_grid
    from ragkit_eval.sweep.run import sweep as run_sweep

    settings = load_settings()
    options = read_grid(grid)
    labelled = joined([read_set(path) for path in sets]).limited(limit)
    result = run_sweep(
        options,
        labelled,
        out,
        settings,
        collection=collection,
        seed=seed,
        concurrency=concurrency,
        overwrite=overwrite,
        quiet=as_json,
        on_cell=lambda line: typer.echo(printable(line), err=True),
    )
    _print(result, out, json=as_json)
    if any(cell.errors for cell in result.outcome.tried):
        raise typer.Exit(3)


def _print(result: "SweepResult", out: Path, *, json: bool) -> None:
    from ragkit.cli import render
    from ragkit_eval.sweep import choose_text

    outcome, questions = result.outcome, result.questions
    if json:
        values = choose_text.as_json(outcome, questions)
        render.print_json(values | {"collections": list(result.collections)})
        return
    typer.echo(
        f"{questions[0]} questions to choose with, {questions[1]} to confirm on,"
        f" by {outcome.metric}\n"
    )
    render.print_table(choose_text.columns(), choose_text.rows(outcome), empty="")
    typer.echo("")
    for line in (*choose_text.remarks_of(outcome), *choose_text.verdict(outcome)):
        typer.echo(printable(line))
    if result.collections:
        typer.echo(
            f"Collections made for it: {', '.join(result.collections)};"
            " 'ragkit collections delete NAME' removes one"
        )
    typer.echo(f"Written: {out / 'sweep.md'}, {out / 'sweep.json'} and a run file for each cell")
