"""The `--as-of` option: what was current at a moment, for where old versions are kept."""

from typing import Annotated

import typer

from ragkit.documents.moments import moment

__all__ = ["AsOf", "moment"]

AsOf = Annotated[
    str | None,
    typer.Option(
        "--as-of",
        metavar="TIME",
        help="Use the versions that were current at this time, if old "
        "versions are kept: 2026-01-31 (the end of that day, UTC) or "
        "2026-01-31T15:00+01:00.",
    ),
]
