"""Show the stage of long work on standard error: a line that changes, or a line for each stage."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Self

import typer

from ragkit.text.printable import printable


class Stages(AbstractContextManager["Stages"]):
    """Show the current stage: one changing line on a terminal, a line for each elsewhere."""

    def __init__(self) -> None:
        from rich.console import Console

        self._console = Console(stderr=True)
        self._status = self._console.status("starting")
        self._last = ""

    def __enter__(self) -> Self:
        if self._console.is_terminal:
            self._status.start()
        return self

    def __exit__(self, *raised: object) -> None:
        self._status.stop()

    def show(self, stage: str, done: int = 0, total: int = 0) -> None:
        """Show a stage, on a terminal with how much of it is done where `total` is not 0."""
        if self._console.is_terminal:
            counted = f"{stage} {done}/{total}" if total else stage
            self._status.update(printable(counted))
        elif stage != self._last:
            typer.echo(printable(stage), err=True)
        self._last = stage
