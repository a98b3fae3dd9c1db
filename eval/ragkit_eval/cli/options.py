"""Options that several commands of `ragkit eval` share."""

from pathlib import Path
from typing import Annotated

import typer

JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON.")]
RunFiles = Annotated[
    list[Path], typer.Argument(help="Run files; the first one is the baseline.", metavar="RUN")
]
DataFolder = Annotated[
    Path | None,
    typer.Option(
        envvar="RAGKIT_EVAL_DATA", metavar="DIR", help="Folder with the data of the tasks."
    ),
]
Groups = Annotated[
    list[str] | None, typer.Option(help="Only this group, such as an MMLU subject (repeatable).")
]
Metrics = Annotated[list[str] | None, typer.Option(help="Compare only this metric (repeatable).")]
OverwriteRuns = Annotated[bool, typer.Option("--overwrite", help="Overwrite the run files.")]

# Options of commands that compute intervals by resampling.
Seed = Annotated[int, typer.Option(min=0, help="Random seed of the resamples.")]
Samples = Annotated[int, typer.Option(min=100, max=1_000_000, help="Number of resamples.")]
Level = Annotated[
    float, typer.Option(min=0.5, max=0.999, help="Confidence level of the intervals.")
]
