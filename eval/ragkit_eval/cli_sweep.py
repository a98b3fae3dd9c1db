"""`ragkit eval sweep`: which options are better on one's own questions, and is it so."""

from pathlib import Path
from typing import Annotated

import typer


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
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Overwrite the run files.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Try a grid of options, choose on one half of the questions, confirm on the other.

    The grid is a TOML file: task = "retrieval" or "answers"; metric, the task's own unless told;
    documents = ["folder"], ingested into collections of their own, as are a set's own documents
    where no --collection is named; and under [grid] each option with its values, the first being
    the baseline: mode, passages, refusal_threshold, instructions, chunk_tokens,
    chunk_overlap_tokens, embed_model, and settings as llm_model or llm_temperature. The same
    command goes on with a sweep that was stopped. Exit code 3 when questions ended in errors.
    """
    from ragkit import render
    from ragkit.settings import load_settings
    from ragkit_eval.sets import joined, read_set
    from ragkit_eval.sweep import choose_text
    from ragkit_eval.sweep.grid import read_grid
    from ragkit_eval.sweep.run import sweep as swept

    settings = load_settings()
    read = read_grid(grid)
    labelled = joined([read_set(path) for path in sets]).limited(limit)
    done = swept(
        read,
        labelled,
        out,
        settings,
        collection=collection,
        seed=seed,
        concurrency=concurrency,
        overwrite=overwrite,
        quiet=as_json,
        on_cell=lambda line: typer.echo(render.printable(line), err=True),
    )
    if as_json:
        values = choose_text.as_json(done.outcome, done.questions)
        render.print_json(values | {"collections": list(done.collections)})
    else:
        typer.echo(
            f"{done.questions[0]} questions to choose with, {done.questions[1]} to confirm on,"
            f" by {done.outcome.metric}\n"
        )
        render.print_table(choose_text.columns(), choose_text.rows(done.outcome), empty="")
        typer.echo("")
        for line in (*choose_text.remarks_of(done.outcome), *choose_text.verdict(done.outcome)):
            typer.echo(render.printable(line))
        if done.collections:
            typer.echo(
                f"Collections made for it: {', '.join(done.collections)};"
                " 'ragkit collections delete NAME' removes one"
            )
        typer.echo(
            f"Written: {out / 'sweep.md'}, {out / 'sweep.json'} and a run file for each cell"
        )
    if any(one.errors for one in done.outcome.tried):
        raise typer.Exit(3)
