"""`ragkit eval compare`: runs against the first of them, paired by item."""

from pathlib import Path
from typing import Annotated

import typer

from ragkit_eval.cli_intervals import Level, Samples, Seed


def compare(
    runs: Annotated[
        list[Path], typer.Argument(help="Run files; the first one is the baseline.", metavar="RUN")
    ],
    metric: Annotated[
        list[str] | None, typer.Option(help="Compare only this metric (repeatable).")
    ] = None,
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
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Say which run is better, by how much, and what differences this data can show.

    Right and wrong is judged by McNemar's exact test, scores and items that share a passage by
    flipping signs; intervals come from a bootstrap that draws such items together; p-values are
    corrected over all that is compared. Runs of different questions are refused.
    """
    import json

    from ragkit import render
    from ragkit_eval import compare_text
    from ragkit_eval.compare import compare as compared
    from ragkit_eval.files import check_ending, write_whole
    from ragkit_eval.record import read_run

    kind = "" if out is None else check_ending(out, {".md": "markdown", ".json": "json"})
    comparison = compared(
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
        written = json.dumps(values, ensure_ascii=False, indent=2) + "\n"
        write_whole(out, written if kind == "json" else compare_text.markdown(comparison))
    if as_json:
        render.print_json(values)
    else:
        typer.echo("\n".join(render.printable(line) for line in compare_text.lines(comparison)))
