"""Options of commands that give intervals, which are made by resampling."""

from typing import Annotated

import typer

Seed = Annotated[int, typer.Option(min=0, help="Random seed of the resamples.")]
Samples = Annotated[int, typer.Option(min=100, max=1_000_000, help="Number of resamples.")]
Level = Annotated[
    float, typer.Option(min=0.5, max=0.999, help="Confidence level of the intervals.")
]
