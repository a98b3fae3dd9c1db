"""One process that answers: the app on an open socket, by uvicorn, drained on SIGTERM.

Run as `python -m ragkit_serve.web.web` by `ragkit serve`, which opens the socket.
"""

from __future__ import annotations

import argparse
import asyncio
import logging
import signal
import socket
import threading
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Final

import uvicorn

from ragkit.cli.local_server import fingerprint
from ragkit.errors import RagkitError
from ragkit.system import logs
from ragkit.system.ending import END_S, exit_after
from ragkit.system.trimming import Trimming
from ragkit_serve.web.commands import Commands
from ragkit_serve.web.connections import server_config

if TYPE_CHECKING:
    from fastapi import FastAPI

    from ragkit.access.library import Library

_TRIM_EVERY_S: Final = 60.0  # arbitrary: giving memory back takes milliseconds
log = logging.getLogger("ragkit.serve")


class DrainingServer(uvicorn.Server):
    """Ends in steps: says that it is not ready, finishes what runs, then stops listening.

    A second signal ends it at once. `on_drained` is called with the seconds that the process may
    still take to end. It answers `ragkit ask` and `ragkit search` through `commands`.
    """

    def __init__(
        self,
        app: FastAPI,
        grace_s: float,
        on_drained: Callable[[float], None] = lambda seconds: None,
        *,
        commands: Commands | None = None,
    ) -> None:
        super().__init__(server_config(app))
        self._app = app
        self._grace_s = grace_s
        self._on_drained = on_drained
        self._draining: asyncio.Task[None] | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._commands = commands

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        self._loop = asyncio.get_running_loop()
        await super().startup(sockets)
        if self._commands is not None:
            await self._commands.start(self._app.state.ragkit)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        if self._loop is None or self._draining is not None:
            self.should_exit = self.force_exit = True
        else:
            self._loop.call_soon_threadsafe(self._begin)

    def _begin(self) -> None:
        if self._draining is None:
            self._draining = asyncio.ensure_future(self._drain())

    async def _drain(self) -> None:
        grace_ends = time.monotonic() + self._grace_s
        if self._commands is not None:
            self._commands.close()
        await self._app.state.ragkit.admission.drain(self._grace_s)
        self._on_drained(END_S - max(0.0, time.monotonic() - grace_ends))
        self.should_exit = True


def main(arguments: Sequence[str] | None = None) -> None:
    """Answer until told to end."""
    from ragkit.settings.sources import trace_settings
    from ragkit.store.open import open_database
    from ragkit_serve.api.app import create_app
    from ragkit_serve.api.tracing import export_spans

    parser = argparse.ArgumentParser(prog="python -m ragkit_serve.web.web", description=__doc__)
    parser.add_argument("--fd", type=int, required=True, help="the listening socket")
    parser.add_argument("--commands-fd", type=int, help="the socket for commands of this machine")
    parser.add_argument("--page", action="store_true", help="the chat page at /")
    parser.add_argument("--shared-metrics", action="store_true")
    parser.add_argument("--status", type=Path, help="the file that says how all processes are")
    options = parser.parse_args(arguments)
    commands = None
    if options.commands_fd is not None:  # before libraries change the environment
        commands = Commands(socket.socket(fileno=options.commands_fd), fingerprint())
    signal.signal(signal.SIGTERM, signal.SIG_DFL)  # until the server takes it over
    logs.configure()
    export_spans()
    settings = trace_settings().settings  # `ragkit serve` has said what is in the file
    sockets = [socket.socket(fileno=options.fd)]
    with open_database(settings) as database:
        from ragkit.access.library import Library
        from ragkit_serve.api.services import Services
        from ragkit_serve.web.processes import StatusFile

        status = StatusFile(options.status) if options.status else None
        services = Services(settings, database, Library(settings, database), status)
        app = create_app(services, ui=options.page, shared_metrics=options.shared_metrics)
        # The first question should not wait for the models.
        threading.Thread(target=_keep_ready, args=(services.library,), daemon=True).start()
        on_drained = partial(exit_after, code=0)
        DrainingServer(app, settings.serve_grace_s, on_drained, commands=commands).run(sockets)


def _keep_ready(library: Library) -> None:
    """Load the models; then give back now and then what loading and busy times no longer need."""
    load_or_log(library)
    trim = Trimming()
    while True:
        trim()
        time.sleep(_TRIM_EVERY_S)


def load_or_log(library: Library) -> None:
    """Load the models; what cannot be had is a line in the log now, and a request's error later."""
    try:
        library.load()
    except RagkitError as error:
        log.warning("%s", error)


if __name__ == "__main__":
    main()
