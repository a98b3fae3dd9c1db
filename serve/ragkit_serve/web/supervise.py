"""`ragkit serve`: the processes that answer and the ingestion worker, kept running.

It opens the port and the database first, so that what is wrong is said before anything starts.
"""

from __future__ import annotations

import os
import signal
import socket
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Final

from ragkit.errors import RagkitError, UsageError
from ragkit.system.ending import END_S, exit_after
from ragkit_serve.web.processes import LOOK_EVERY_S, MOST_FAILED_STARTS, Process, StatusFile, end

if TYPE_CHECKING:
    from ragkit.settings.settings import Settings
    from ragkit.store.open import Database

WORKER: Final = "ingestion worker"
DRAIN_S: Final = 2.5  # beyond the grace time: to end streams, and to close what is open


class ServeError(RagkitError):
    """The server cannot go on."""


def serve(
    settings: Settings,
    *,
    page: bool = True,
    worker: bool = True,
    on_ready: Callable[[str], None] = lambda url: None,
) -> None:
    """Serve until SIGTERM or Ctrl-C, then drain. Raises UsageError, DatabaseError, ServeError.

    It goes on without an ingestion worker that keeps failing, and without some of several web
    processes, and starts them again with growing pauses. It does not start when the collection
    cannot be searched with the model that it is embedded with: OtherModelError, ModelError.

    `on_ready` is told the server's address once it answers.
    """
    from ragkit.knowledge.embedders import check_collection
    from ragkit.store.open import open_database
    from ragkit_serve.api import oidc
    from ragkit_serve.web.commands import command_socket

    oidc.check(settings)
    with (
        open_database(settings) as database,
        _listening(settings) as listening,
        TemporaryDirectory(prefix="ragkit-") as folder,
    ):
        _check_access(settings, database)
        check_collection(settings, database)
        host, port = listening.getsockname()[:2]
        status = StatusFile(Path(folder) / "status")
        address = f"[{host}]" if ":" in host else host
        with command_socket(settings) as commands:
            sockets = (listening, commands) if commands else (listening,)
            processes = _processes(settings, sockets, Path(folder), page=page, worker=worker)
            _run(processes, status, f"http://{address}:{port}", on_ready)


def _run(
    processes: Sequence[Process], status: StatusFile, url: str, on_ready: Callable[[str], None]
) -> None:
    """Watch the processes until a signal; then end them. A second signal ends them at once."""
    signals: list[int] = []
    previous = {
        number: signal.signal(number, lambda number, frame: signals.append(number))
        for number in (signal.SIGTERM, signal.SIGINT)
    }
    ready = False
    try:
        for process in processes:
            process.start()
        while not signals:
            for process in processes:
                process.look()
            status.write(processes)
            _check_any_answers(processes)
            if not ready and _answers(url):
                ready = True
                on_ready(url)
            time.sleep(LOOK_EVERY_S)
    finally:
        end(processes, lambda: len(signals) > 1)
        for number, handler in previous.items():
            signal.signal(number, handler)
    code = 128 + signals[1] if len(signals) > 1 else 0
    exit_after(END_S, code)  # should leaving the database take longer
    if code:
        raise SystemExit(code)


def _check_any_answers(processes: Sequence[Process]) -> None:
    """Raise ServeError when no web process lives long enough: that does not mend itself."""
    web = [process for process in processes if process.name != WORKER]
    if all(process.is_down for process in web):
        raise ServeError(
            f"no web process stays alive: each ended {MOST_FAILED_STARTS} times soon after its"
            " start, and its own message stands above"
        )


def _processes(
    settings: Settings,
    sockets: Sequence[socket.socket],
    folder: Path,
    *,
    page: bool,
    worker: bool,
) -> list[Process]:
    """Make the processes; the first socket is the port's, a second one is for commands."""
    count = settings.serve_workers
    fd, *commands = fds = tuple(opened.fileno() for opened in sockets)
    python = [sys.executable, "-P", "-m"]
    environment = {
        "RAGKIT_SERVE_HOST": settings.serve_host,
        # Each of many threads would keep what it freed to itself; see mallopt(3).
        "MALLOC_ARENA_MAX": os.environ.get("MALLOC_ARENA_MAX", "2"),
    }
    options = ["--status", str(folder / "status")]
    if count > 1:
        figures = folder / "metrics"
        figures.mkdir(mode=0o700)
        environment["PROMETHEUS_MULTIPROC_DIR"] = str(figures)
        options.append("--shared-metrics")
    if page:
        options.append("--page")
    if commands:
        options += ["--commands-fd", str(commands[0])]
    processes = []
    for number in range(count):
        command = [*python, "ragkit_serve.web.web", "--fd", str(fd), *options]
        name, end_s = f"web process {number + 1}", settings.serve_grace_s + DRAIN_S
        processes.append(Process(name, command, fds, environment, end_s))
    if worker:
        processes.append(Process(WORKER, [*python, "ragkit", "worker"]))
    return processes


def _listening(settings: Settings) -> socket.socket:
    host, port = settings.serve_host, settings.serve_port
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listening = socket.socket(family, socket.SOCK_STREAM)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((host, port))
        listening.listen(2048)
    except OSError as error:
        listening.close()
        raise UsageError(
            f"{host} port {port} cannot be listened on: {error.strerror}: choose another with"
            " --host and --port"
        ) from error
    listening.set_inheritable(True)
    return listening


def _check_access(settings: Settings, database: Database) -> None:
    """Refuse to be open to others without keys."""
    from ragkit.access import keys
    from ragkit.settings.hosts import is_loopback

    if is_loopback(settings.serve_host):
        return
    if settings.serve_auth == "none":
        raise UsageError(
            f"{settings.serve_host} can be reached from other machines, where RAGKIT_SERVE_AUTH ="
            " none would let everybody in: use auto or keys"
        )
    if settings.oidc_issuer is None and not keys.any_valid(database):
        raise UsageError(
            f"{settings.serve_host} can be reached from other machines, and there is no access key"
            " yet: make one with `ragkit keys create`, or listen on 127.0.0.1"
        )


def _answers(url: str) -> bool:
    import httpx

    host = httpx.URL(url).host
    reached = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)  # noqa: S104  compared, not bound
    try:
        answer = httpx.get(
            httpx.URL(url).copy_with(host=reached, path="/readyz"), timeout=1.0, trust_env=False
        )
    except httpx.TransportError:
        return False
    return answer.status_code == 200
