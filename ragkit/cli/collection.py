"""The `--collection` option of commands that search or answer, `-c` for short."""

from typing import Annotated

import typer

AnswersFrom = Annotated[
    str | None, typer.Option("--collection", "-c", help="Collection to answer from.")
]
SearchesIn = Annotated[str | None, typer.Option("--collection", "-c", help="Collection to search.")]
