"""`ragkit eval compare`: compare runs with the first of them, paired by item."""

from pathlib import Path
from typing import Annotated

import typer

from ragkit.text.printable import printable
from ragkit_eval.cli.options import JsonOption, Level, Metrics, RunFiles, Samples, Seed


def compare(
    runs: RunFiles,
    metric: Metrics = None,
    task: Annotated[
        list[str] | None, typer.Option(help="Compare only this task (repeatable).")
    ] = None,
    group: Annotated[
        bool, typer.Option("--group", help="Compare each group or subject, too.")
    ] = False,
    seed: Seed = 0,
    samples: Samples = 10_000,
    level: Level = 0.95,
    out: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write the comparison to this file, too: .md or .json."),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Report which run is better, by how much, and which differences this data can show.

    Right and wrong is tested by McNemar's exact test, scores and items that share a passage by
    flipping signs; intervals come from a bootstrap that draws such items together; p-values are
    corrected over all comparisons. Runs of different questions are refused.
    """
    import json

    from ragkit.cli import render
    from ragkit_eval.compare import compare_text
    from ragkit_eval.compare.compare import compare as compare_runs
    from ragkit_eval.run.files import check_ending, write_whole
    from ragkit_eval.run.record import read_run

    kind = "" if out is None else check_ending(out, {".md": "markdown", ".json": "json"})
    comparison = compare_runs(
        [read_run(path, texts=False) for path in runs],
        metric,
        tasks=task,
        groups=group,
        seed=seed,
        samples=samples,
        level=level,
    )
    values = compare_text.as_json(comparison)
    if out is not None:
        text = json.dumps(values, ensure_ascii=False, indent=2) + "\n"
        write_whole(out, text if kind == "json" else compare_text.markdown(comparison))
    if as_json:
        render.print_json(values)
    else:
        typer.echo("\n".join(printable(line) for line in compare_text.lines(comparison)))
