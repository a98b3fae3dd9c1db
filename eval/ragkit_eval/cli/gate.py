"""`ragkit eval gate`: fail in CI when a candidate's run is worse than a baseline's."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from ragkit.text.printable import printable
from ragkit_eval.cli.options import JsonOption, Level, Samples, Seed


def gate(
    baseline: Annotated[Path, typer.Option(help="Run file of the baseline.", metavar="RUN")],
    candidate: Annotated[Path, typer.Option(help="Run file to judge.", metavar="RUN")],
    metric: Annotated[
        list[str],
        typer.Option(help="Metric that must not drop, or NAME=X with its own margin (repeatable)."),
    ],
    max_drop: Annotated[
        float | None, typer.Option(min=0, help="Largest drop that is allowed, such as 0.02.")
    ] = None,
    task: Annotated[
        list[str] | None, typer.Option(help="Judge only this task (repeatable).")
    ] = None,
    min_coverage: Annotated[
        float, typer.Option(min=0, max=1, help="Smallest share of items that must have an outcome.")
    ] = 1.0,
    max_errors: Annotated[
        float, typer.Option(min=0, max=1, help="Largest share of items that may be errors.")
    ] = 0.01,
    allow_inconclusive: Annotated[
        bool, typer.Option("--allow-inconclusive", help="Pass when the result is inconclusive.")
    ] = False,
    level: Level = 0.95,
    seed: Seed = 0,
    samples: Samples = 10_000,
    junit: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write the result as JUnit XML to this file."),
    ] = None,
    markdown: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write the result as Markdown to this file.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Fail unless a larger drop than allowed is ruled out, by the interval of the difference.

    Exit codes: 0 pass; 1 a regression, or inconclusive: the interval reaches beyond the margin;
    2 unusable: other questions, too few outcomes, too many errors, an unknown metric.
    """
    from ragkit.cli import render
    from ragkit.errors import UsageError
    from ragkit_eval.compare import gate_text
    from ragkit_eval.compare.gate import Gate
    from ragkit_eval.compare.gate import gate as check
    from ragkit_eval.run.files import check_folder, write_whole
    from ragkit_eval.run.record import read_run

    for path in (junit, markdown):
        if path is not None:
            check_folder(path)
    margins = _read_margins(metric, max_drop)
    try:
        result = check(
            read_run(baseline, texts=False),
            read_run(candidate, texts=False),
            margins,
            tasks=task,
            min_coverage=min_coverage,
            max_errors=max_errors,
            allow_inconclusive=allow_inconclusive,
            level=level,
            seed=seed,
            samples=samples,
        )
    except UsageError as error:  # CI's report also names a run that cannot be read
        result = Gate((), (str(error),), level)
    if junit is not None:
        write_whole(junit, gate_text.junit(result))
    if markdown is not None:
        write_whole(markdown, gate_text.markdown(result))
    if as_json:
        render.print_json(gate_text.as_json(result))
    else:
        typer.echo("\n".join(printable(line) for line in gate_text.lines(result)))
    if result.exit_code:
        raise typer.Exit(result.exit_code)


def _read_margins(metrics: Sequence[str], max_drop: float | None) -> dict[str, float]:
    """Parse each NAME=X, or NAME with the common margin."""
    from ragkit.errors import UsageError

    margins = {}
    for metric in metrics:
        name, separator, margin = metric.partition("=")
        if not separator and max_drop is None:
            raise UsageError(f"how far may {name} drop? Give --max-drop, or --metric {name}=0.02")
        if name in margins:
            raise UsageError(f"{name} has two margins: name it once")
        try:
            margins[name] = float(margin) if separator else max_drop or 0.0
        except ValueError as error:
            raise UsageError(
                f"--metric {metric}: {margin!r} is not a number: write it as 0.02"
            ) from error
    return margins
