"""What a person sees of a server being started: how far it is, its log, how to use it."""

from __future__ import annotations

import shlex
import time
from typing import Final

import typer
from rich.console import Console

from ragkit_serve.model.serve.log import stage
from ragkit_serve.model.serve.options import Launch
from ragkit_serve.model.serve.supervise import Watch

_CONSOLE: Final = Console(stderr=True, highlight=False, soft_wrap=True)


class Shown:
    """The log and the stage on standard error, the address on standard output."""

    def __init__(self, launch: Launch, name: str, *, tell_key: bool, quiet: bool) -> None:
        self._launch = launch
        self._name = name
        self._tell_key = tell_key
        self._quiet = quiet
        self._started = time.monotonic()
        self._stage = "starting"
        self._status = _CONSOLE.status("starting")

    def __enter__(self) -> Watch:
        if _CONSOLE.is_terminal:
            self._status.start()
        return Watch(self._line, self._ready, self._restart)

    def __exit__(self, *reason: object) -> None:
        self._status.stop()

    def _line(self, line: str) -> None:
        if found := stage(line):
            self._say_stage(found)
        if not self._quiet:
            _CONSOLE.print(line, style="dim", markup=False)

    def _say_stage(self, found: str) -> None:
        seconds = time.monotonic() - self._started
        if found != self._stage and not _CONSOLE.is_terminal:
            _CONSOLE.print(f"ragkit: {found} ({seconds:.0f} s)", markup=False)
        self._stage = found
        self._status.update(f"{found} ({seconds:.0f} s)")

    def _ready(self) -> None:
        self._status.stop()
        seconds = time.monotonic() - self._started
        where = self._launch.unix_socket or self._launch.base_url
        typer.echo(f"Ready after {seconds:.0f} s: {self._name} at {where}")
        if self._launch.unix_socket:
            typer.echo(
                "A unix socket is for a gateway on this machine:"
                f" ragkit model gateway --backends unix:{self._launch.unix_socket}"
            )
            return
        key = shlex.quote(self._launch.key) if self._tell_key else "(as it was set)"
        typer.echo(f"  export RAGKIT_LLM_URL={self._launch.base_url}")
        typer.echo(f"  export RAGKIT_LLM_MODEL={shlex.quote(self._name)}")
        typer.echo(f"  export RAGKIT_LLM_API_KEY={key}")

    def _restart(self, said: str) -> None:
        self._started = time.monotonic()
        typer.echo(f"ragkit: {said}", err=True)
        if _CONSOLE.is_terminal:
            self._status.start()
