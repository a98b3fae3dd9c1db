"""Display of a starting server on the terminal: its stage, its log, and how to use it."""

from __future__ import annotations

import os
import shlex
import time
from pathlib import Path
from typing import Final

import typer
from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from ragkit.cli.render import print_json
from ragkit_models.serve.log import stage
from ragkit_models.serve.options import Launch
from ragkit_models.serve.supervise import Watch

_CONSOLE: Final = Console(stderr=True, highlight=False, soft_wrap=True)


class StartDisplay:
    """Show log and stage on standard error, and the server's address on standard output.

    `new_key` is a key that was just made and must be shown; `key_file` is the file of a key.
    """

    def __init__(
        self,
        launch: Launch,
        name: str,
        *,
        new_key: str | None,
        key_file: Path | None,
        quiet: bool,
        as_json: bool,
    ) -> None:
        self._launch = launch
        self._name = name
        self._new_key = new_key
        self._key_file = key_file
        self._quiet = quiet
        self._as_json = as_json
        self._started = time.monotonic()
        self._stage = ""
        columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
        self._progress = Progress(*columns, console=_CONSOLE, transient=True)
        self._task = self._progress.add_task("")

    def __enter__(self) -> Watch:
        self._begin()
        return Watch(self._line, self._ready, self._restart, self._stopping)

    def __exit__(self, *reason: object) -> None:
        self._progress.stop()

    def _begin(self) -> None:
        self._started = time.monotonic()
        self._stage = ""
        self._progress.reset(self._task)
        self._show_stage(f"starting {self._launch.program}")
        if _CONSOLE.is_terminal:
            self._progress.start()

    def _line(self, line: str) -> None:
        if name := stage(line):
            self._show_stage(name)
        if not self._quiet:
            _CONSOLE.print(f"{self._launch.program} | {line}", style="dim", markup=False)

    def _show_stage(self, name: str) -> None:
        if name == self._stage:
            return
        self._stage = name
        self._progress.update(self._task, description=name)
        if not _CONSOLE.is_terminal:
            seconds = time.monotonic() - self._started
            _CONSOLE.print(f"ragkit: {name} ({seconds:.0f} s)", markup=False)

    def _ready(self) -> None:
        self._progress.stop()
        seconds = time.monotonic() - self._started
        if self._as_json:
            self._print_json(seconds)
            return
        where = self._launch.unix_socket or self._launch.base_url
        typer.echo(f"Ready after {seconds:.0f} s: {self._name} at {where}")
        if self._launch.unix_socket:
            typer.echo("  For an nginx on this machine (docs/howto/several-machines.md):")
            typer.echo(f"  server unix:{self._launch.unix_socket};")
        else:
            typer.echo(f"  export RAGKIT_LLM_URL={self._launch.base_url}")
        typer.echo(f"  export RAGKIT_LLM_MODEL={shlex.quote(self._name)}")
        if self._key_file:
            typer.echo(f'  export RAGKIT_LLM_API_KEY="$(cat {shlex.quote(str(self._key_file))})"')
        elif self._new_key:
            typer.echo(f"  export RAGKIT_LLM_API_KEY={shlex.quote(self._new_key)}")
        else:
            typer.echo("  RAGKIT_LLM_API_KEY keeps its value")

    def _print_json(self, seconds: float) -> None:
        socket = self._launch.unix_socket
        print_json(
            {
                "ready": True,
                "model": self._name,
                "url": None if socket else self._launch.base_url,
                "unix_socket": str(socket) if socket else None,
                "api_key": self._new_key,
                "api_key_file": str(self._key_file) if self._key_file else None,
                "seconds": round(seconds, 1),
                "pid": os.getpid(),
            }
        )

    def _restart(self, message: str) -> None:
        typer.echo(f"ragkit: {message}", err=True)
        self._begin()

    def _stopping(self) -> None:
        self._progress.stop()
        typer.echo("ragkit: stopping; running answers may finish (again: end at once)", err=True)
