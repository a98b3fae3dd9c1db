"""The `--where` option that commands share: only documents that a filter is true of."""

from typing import Annotated

import typer

Where = Annotated[
    str | None,
    typer.Option(
        "--where",
        metavar="FILTER",
        help="Only documents of which this is true, as in 'language = \"en\" and year >= 2020'.",
    ),
]
