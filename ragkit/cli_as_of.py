"""The `--as-of` option: what was current at a moment, for where old versions are kept."""

from typing import Annotated

import typer

from ragkit.moments import moment

__all__ = ["AsOf", "moment"]

AsOf = Annotated[
    str | None,
    typer.Option(
        "--as-of",
        metavar="TIME",
        help="What was current then, of versions that were kept: 2026-01-31, which is the end of"
        " that day in UTC, or 2026-01-31T15:00+01:00.",
    ),
]
