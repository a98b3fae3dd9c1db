"""The `--mode` option of commands that search."""

from typing import Annotated

import typer

from ragkit.types import Mode

SearchMode = Annotated[
    Mode,
    typer.Option(
        "--mode",
        help="Search mode: by meaning and by words (hybrid), by meaning "
        "(dense) or by words (lexical).",
    ),
]
