"""The embedded PostgreSQL in ragkit's home, shared by every process that has it open.

The first to come starts it, the last to leave stops it. Knows nothing of what is stored in it.
"""

from __future__ import annotations

import atexit
import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from ragkit.errors import DatabaseError
from ragkit.settings.home import make_home
from ragkit.store.server.locks import FileLock
from ragkit.store.server.postmaster import Postmaster, Running
from ragkit.store.server.programs import failure
from ragkit.system.closing import Closing

if TYPE_CHECKING:
    from psycopg import Connection

log = logging.getLogger(__name__)

_KEEP = "keep-running"


@dataclass(frozen=True, slots=True)
class ServerStatus:
    """What is known of the embedded server, without starting it.

    `version` is PostgreSQL's: exact while the server runs, else the major version of the data,
    and None where there are none. `connections` counts those of others, while it runs.
    """

    running: bool
    folder: Path
    size_bytes: int
    version: str | None
    keep_running: bool
    pid: int | None = None
    url: str | None = None
    pgvector: str | None = None
    connections: int | None = None


class EmbeddedServer(Closing):
    """This process's share of the server; made by `open`, given back by `close` or at exit.

    Each share is a shared lock on `home`/clients.lock, which a killed process cannot leave behind.
    """

    def __init__(
        self, home: Path, clients: FileLock, running: Running, *, durable: bool = True
    ) -> None:
        self.url = running.url
        self._home = home
        self._durable = durable
        self._clients: FileLock | None = clients
        self._owner = os.getpid()
        atexit.register(self.close)

    @classmethod
    def open(cls, home: Path, *, durable: bool = True) -> Self:
        """Join the server of `home`, starting it, and making it on first use.

        `durable=False` is for tests: a server started so may lose its data with the machine's
        power. Raises DatabaseError, one line with the remedy.
        """
        home = _made(home)
        with _turn(home):
            clients = FileLock(home / "clients.lock")
            try:
                clients.share()
                running = Postmaster(home).start(durable=durable)
                return cls(home, clients, running, durable=durable)
            except BaseException:
                clients.close()
                raise

    def recover(self) -> None:
        """Start the server again if it has crashed; one that was stopped stays stopped.

        Raises DatabaseError.
        """
        postmaster = Postmaster(self._home)
        if self._clients is None or not postmaster.has_crashed():
            return
        with _turn(self._home):
            if postmaster.has_crashed():  # nobody else has started it meanwhile
                log.warning("the embedded database has crashed and is started again")
                postmaster.start(durable=self._durable)

    def connection_class(self) -> type[Connection[Any]]:
        """Make a class of connections for a pool: connecting starts a crashed server again."""
        import psycopg

        server = self

        class Recovering(psycopg.Connection[Any]):
            @classmethod
            def connect(cls, *args: Any, **kwargs: Any) -> Self:
                server.recover()
                return super().connect(*args, **kwargs)

        return Recovering

    def close(self) -> None:
        """Give up this share; the last one stops the server, unless it is to keep running."""
        clients, self._clients = self._clients, None
        if clients is None or os.getpid() != self._owner:  # a forked child does not own it
            return
        atexit.unregister(self.close)
        try:
            if not self._home.is_dir():  # removed under the server, which then ends by itself
                return
            with _turn(self._home):
                clients.release()
                if clients.try_exclude() and not (self._home / _KEEP).exists():
                    Postmaster(self._home).stop()
        finally:
            clients.close()


def start(home: Path) -> ServerStatus:
    """Start the server and keep it running until `stop`, whoever comes and goes."""
    home = _made(home)
    with _turn(home):
        Postmaster(home).start()
        (home / _KEEP).touch(mode=0o600)
    return status(home)


def stop(home: Path) -> ServerStatus:
    """Stop the server, cutting the connections of its users; return what it was before."""
    home = _absolute(home)
    before = status(home)
    if home.is_dir():
        with _turn(home):
            (home / _KEEP).unlink(missing_ok=True)
            Postmaster(home).stop()
    return before


def status(home: Path) -> ServerStatus:
    """Look at the server of `home`, without starting or making anything."""
    home = _absolute(home)
    postmaster = Postmaster(home)
    with _one_line(home):
        running = postmaster.running()
        major = postmaster.version()
        keep = (home / _KEEP).exists()
    size = _size_bytes(postmaster.data)
    if running is not None and (found := _ask(running)) is not None:
        version, pgvector, connections = found
        return ServerStatus(
            True,
            postmaster.data,
            size,
            version,
            keep,
            pid=running.pid,
            url=running.url,
            pgvector=pgvector,
            connections=connections,
        )
    return ServerStatus(False, postmaster.data, size, None if major is None else str(major), keep)


def _ask(running: Running) -> tuple[str, str | None, int] | None:
    from ragkit.store.connection.connect import connect, describe

    try:
        with connect(running.url) as conn:
            found = describe(conn)
    except DatabaseError:  # it has just been stopped
        return None
    return found.postgres, found.pgvector, found.connections


def _absolute(home: Path) -> Path:
    return home.expanduser().resolve()


def _made(home: Path) -> Path:
    home = _absolute(home)
    with _one_line(home):
        make_home(home)
    return home


@contextmanager
def _turn(home: Path) -> Iterator[None]:
    """Let one process at a time start or stop the server of `home`."""
    with _one_line(home), FileLock(home / "turn.lock") as lock:
        lock.exclude()
        yield


@contextmanager
def _one_line(home: Path) -> Iterator[None]:
    """Translate what the system says of a folder that cannot be used."""
    try:
        yield
    except OSError as error:
        what = f"The database's folder {home} cannot be used"
        reason = f"{error.filename}: {error.strerror}" if error.filename else str(error)
        raise failure(what, reason, "set RAGKIT_HOME to another folder") from error


def _size_bytes(folder: Path) -> int:
    """Add up the sizes of all files; those that vanish meanwhile count nothing."""
    total = 0
    for parent, _, names in os.walk(folder):
        for name in names:
            try:
                total += os.lstat(os.path.join(parent, name)).st_size
            except OSError:
                continue
    return total
