"""`ragkit serve`: the processes that answer and the ingestion worker, started, watched and ended.

It opens the port and the database first, so that what is wrong is said before anything starts. It
knows nothing of requests.
"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Final

from ragkit.errors import RagkitError, UsageError

if TYPE_CHECKING:
    from ragkit.settings import Settings
    from ragkit.store.open import Database

LOOK_EVERY_S: Final = 0.1
LONGEST_REST_S: Final = 30.0  # arbitrary: before a process that keeps failing is started again
SETTLED_S: Final = 30.0  # arbitrary: a process that lived so long had started well
MOST_FAILED_STARTS: Final = 3  # of a process that never lived so long: then the server gives up
END_S: Final = 15.0  # beyond the grace time: to close connections and the database


class ServeError(RagkitError):
    """The server cannot go on."""


@dataclass
class Process:
    """A child process, and how its starts went."""

    name: str
    command: Sequence[str]
    fds: tuple[int, ...] = ()
    environment: dict[str, str] = field(default_factory=dict)
    running: subprocess.Popen[bytes] | None = None
    began: float = 0.0
    failures: int = 0
    again_at: float = 0.0

    def start(self) -> None:
        launcher = [sys.executable, "-P", "-m", "ragkit_serve.child", str(os.getpid())]
        self.began = time.monotonic()
        self.running = subprocess.Popen(
            [*launcher, *self.command],
            pass_fds=self.fds,
            env=os.environ | self.environment,
            stdin=subprocess.DEVNULL,
            start_new_session=True,  # Ctrl-C is for the parent, which drains
            umask=0o077,  # uploads on their way in and figures are nobody else's to read
        )

    def look(self) -> None:
        """Start it again, after a rest, when it has ended. Raises ServeError if it never lives."""
        now = time.monotonic()
        if self.running is None:
            if now >= self.again_at:
                self.start()
            return
        code = self.running.poll()
        if code is None:
            return
        self.running = None
        self.failures = 1 if now - self.began >= SETTLED_S else self.failures + 1
        if self.failures >= MOST_FAILED_STARTS:
            raise ServeError(
                f"{self.name} ended {self.failures} times soon after its start (exit code {code}):"
                " its own message stands above"
            )
        self.again_at = now + min(LONGEST_REST_S, 2.0 ** (self.failures - 1))
        sys.stderr.write(f"ragkit: {self.name} ended (exit code {code}) and is started again\n")


def serve(
    settings: Settings,
    *,
    page: bool = True,
    worker: bool = True,
    on_ready: Callable[[str], None] = lambda url: None,
) -> None:
    """Serve until SIGTERM or Ctrl-C, then drain. Raises UsageError, DatabaseError, ServeError.

    It does not start when the collection cannot be searched with the model that it is embedded
    with: OtherModelError, ModelError.

    `on_ready` is told the server's address once it answers.
    """
    from ragkit.embedders import check_collection
    from ragkit.store.open import open_database
    from ragkit_serve.api import oidc

    oidc.check(settings)
    with (
        open_database(settings) as database,
        _listening(settings) as listening,
        TemporaryDirectory(prefix="ragkit-") as folder,
    ):
        _check_access(settings, database)
        check_collection(settings, database)
        host, port = listening.getsockname()[:2]
        processes = _processes(settings, listening, Path(folder), page=page, worker=worker)
        shown = f"[{host}]" if ":" in host else host
        _run(processes, f"http://{shown}:{port}", settings.serve_grace_s, on_ready)


def _run(
    processes: Sequence[Process], url: str, grace_s: float, on_ready: Callable[[str], None]
) -> None:
    ending: list[int] = []
    before = {
        number: signal.signal(number, lambda number, frame: ending.append(number))
        for number in (signal.SIGTERM, signal.SIGINT)
    }
    told = False
    try:
        for process in processes:
            process.start()
        while not ending:
            for process in processes:
                process.look()
            if not told and _answers(url):
                told = True
                on_ready(url)
            time.sleep(LOOK_EVERY_S)
    finally:
        _end(processes, grace_s, lambda: len(ending) > 1)
        for number, handler in before.items():
            signal.signal(number, handler)


def _end(processes: Sequence[Process], grace_s: float, hurried: Callable[[], bool]) -> None:
    """Ask all to end, wait until they have drained, kill what is left; a second signal kills."""
    running = [process.running for process in processes if process.running is not None]
    for child in running:
        if child.poll() is None:
            child.terminate()
    until = time.monotonic() + grace_s + END_S
    while any(child.poll() is None for child in running):
        if time.monotonic() > until or hurried():
            for child in running:
                if child.poll() is None:
                    child.kill()
        time.sleep(LOOK_EVERY_S)


def _processes(
    settings: Settings, listening: socket.socket, folder: Path, *, page: bool, worker: bool
) -> list[Process]:
    count = settings.serve_workers
    fd = listening.fileno()
    python = [sys.executable, "-P", "-m"]
    environment = {
        "RAGKIT_SERVE_HOST": settings.serve_host,
        # Each of many threads would keep what it freed to itself; see mallopt(3).
        "MALLOC_ARENA_MAX": os.environ.get("MALLOC_ARENA_MAX", "2"),
    }
    options: list[str] = []
    if count > 1:
        figures = folder / "metrics"
        figures.mkdir(mode=0o700)
        environment["PROMETHEUS_MULTIPROC_DIR"] = str(figures)
        options.append("--shared-metrics")
    if page:
        options.append("--page")
    processes = []
    for number in range(count):
        command = [*python, "ragkit_serve.web", "--fd", str(fd), *options]
        processes.append(Process(f"web process {number + 1}", command, (fd,), environment))
    if worker:
        processes.append(Process("the ingestion worker", [*python, "ragkit", "worker"]))
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
    from ragkit import keys
    from ragkit.hosts import is_loopback

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
            httpx.URL(url).copy_with(host=reached, path="/readyz"), timeout=2.0, trust_env=False
        )
    except httpx.TransportError:
        return False
    return answer.status_code == 200
