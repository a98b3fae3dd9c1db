"""One PostgreSQL data folder on this machine: made, started, found running, stopped.

Knows nothing of who uses the server; callers see to it that only one of them acts at a time.
"""

from __future__ import annotations

import errno
import os
import shlex
import shutil
import signal
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from urllib.parse import quote

from ragkit.errors import DatabaseError
from ragkit.settings.home import ROOTS_HOME
from ragkit.store.server.locks import FileLock
from ragkit.store.server.programs import (
    Account,
    Programs,
    account_for,
    check_reachable,
    closed_folder,
    copied,
    failure,
    find_programs,
)
from ragkit.store.server.sockets import PORT, SOCKET, socket_dir
from ragkit.store.server.tuning import settings_for, this_machine
from ragkit.system.private_files import private

START_TIMEOUT_S: Final = 120  # arbitrary: replaying the log after a crash takes a while
STOP_TIMEOUT_S: Final = 60
_MIN_FREE_MB: Final = 128  # an empty data folder and its first log take 60


@dataclass(frozen=True, slots=True)
class Running:
    """A server that answers."""

    pid: int
    url: str


class Postmaster:
    """The server of the data folder `home`/postgres; `home` is an absolute, resolved path.

    The server and all its children hold `home`/server.lock through an inherited descriptor. The
    kernel lets go of it when the last of them has ended, however that came about, so that whether
    one is alive is never guessed from a noted pid.
    """

    def __init__(self, home: Path) -> None:
        self.data = home / "postgres"
        self.log = home / "postgres.log"
        self._lock = home / "server.lock"

    def version(self) -> int | None:
        """Read which major version wrote the data; None where there are none yet."""
        try:
            return int((self.data / "PG_VERSION").read_text())
        except FileNotFoundError:
            return None

    def running(self) -> Running | None:
        """Find the server if one answers, having waited while it starts or stops."""
        from psycopg.pq import PGconn, Ping

        noted = self._noted()
        if noted is None:
            return None
        pid, url = noted
        end = time.monotonic() + START_TIMEOUT_S
        while (ping := PGconn.ping(url.encode())) == Ping.REJECT and time.monotonic() < end:
            time.sleep(0.05)
        return Running(pid, url) if ping == Ping.OK else None

    def has_crashed(self) -> bool:
        """Tell whether the server ended without removing its pid file, as it does when stopped."""
        noted = self._noted()
        return noted is not None and not self._is_ours(noted[0])

    def start(self, *, durable: bool = True) -> Running:
        """Start the server, making its data folder if need be, and return when it answers.

        Raises DatabaseError, one line with the remedy.
        """
        if running := self.running():
            return running
        programs = find_programs()
        version = self.version()
        if version not in {None, programs.major}:
            raise DatabaseError(
                f"The data in {self.data} were written by PostgreSQL {version}, and this"
                f" installation embeds {programs.major}: move that folder away and ingest again, or"
                " go back to the installation that made it."
            )
        account = account_for(self.data)
        if account is not None:
            check_reachable(self.data, account, f"set RAGKIT_HOME to {ROOTS_HOME}")
            if closed_folder(programs.folder / "postgres", account) is not None:
                programs = copied(programs, self.data.parent)
        with FileLock(self._lock) as lock:
            if not lock.try_exclude(timeout_s=STOP_TIMEOUT_S):
                raise DatabaseError(
                    f"A PostgreSQL that works in {self.data} does not answer: end its processes."
                )
            if version is None:
                self._initialise(programs, account, lock, durable=durable)
            sockets = socket_dir(self.data, account)
            # What a killed server left would stop the next one, once the pid in it is another's.
            for left in (self.data / "postmaster.pid", sockets / f"{SOCKET}.lock"):
                left.unlink(missing_ok=True)
            self._write_settings(sockets, account, durable=durable)
            self._launch(programs, account, lock)
        running = self.running()
        if running is None:
            raise DatabaseError(f"The embedded PostgreSQL ended at once: see {self.log}.")
        return running

    def stop(self) -> bool:
        """Stop the server, cutting its connections; tell whether there was one to stop."""
        noted = self._noted()
        if noted is None or not self._is_ours(noted[0]):
            return False
        with FileLock(self._lock) as lock:
            # The fast shutdown; then the immediate one, from which the next start recovers.
            for sign, timeout_s in ((signal.SIGINT, STOP_TIMEOUT_S), (signal.SIGQUIT, 10)):
                os.kill(noted[0], sign)
                if lock.try_exclude(timeout_s=timeout_s):
                    return True
        raise DatabaseError(
            f"The embedded PostgreSQL, process {noted[0]}, does not stop: end it by hand."
        )

    def _noted(self) -> tuple[int, str] | None:
        """Read process and address from the server's own pid file; they may be out of date."""
        try:
            lines = (self.data / "postmaster.pid").read_text().splitlines()
        except FileNotFoundError:
            return None
        if len(lines) < 5 or not lines[0].isdecimal():
            return None
        host = quote(lines[4], safe="")
        return int(lines[0]), f"postgresql://postgres@/postgres?host={host}&port={PORT}"

    def _is_ours(self, pid: int) -> bool:
        """Tell whether a process is this folder's server: the pid may be another's by now."""
        try:
            arguments = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
        except OSError:
            return False
        return arguments[1:3] == [b"-D", os.fsencode(self.data)]

    def _initialise(
        self, programs: Programs, account: Account | None, lock: FileLock, *, durable: bool
    ) -> None:
        """Make the data folder beside its place, then move it there: it is whole or absent.

        initdb holds the lock too: should we be killed, the next run waits until it has ended.
        """
        new = self.data.with_name("postgres.new")
        if new.exists():  # a killed run's
            shutil.rmtree(new)
        if self.data.exists():
            self.data.rmdir()  # empty, or else not ours
        free = shutil.disk_usage(new.parent).free // 2**20
        if free < _MIN_FREE_MB:
            raise DatabaseError(
                f"The disk of {new.parent} is full ({free} MB free, a new database takes"
                f" {_MIN_FREE_MB}): free some space, or set RAGKIT_HOME to another disk."
            )
        new.mkdir(mode=0o700)
        if account is not None:
            os.chown(new, account.uid, account.gid)
        # The built-in locale sorts alike on every system: no update of libc breaks an index.
        command = ["initdb", "--auth=trust", "--username=postgres", "--encoding=UTF8"]
        command += ["--locale=C", "--locale-provider=builtin", "--builtin-locale=C.UTF-8"]
        command += [f"--pgdata={new}"] + ([] if durable else ["--no-sync"])
        done = programs.run(command, account, output=subprocess.PIPE, pass_fds=[lock.fileno()])
        if done.returncode != 0:
            shutil.rmtree(new, ignore_errors=True)
            text = done.stdout.decode(errors="replace")
            otherwise = "set RAGKIT_HOME to another folder"
            raise failure(f"No database can be made in {new.parent}", text, otherwise)
        with (new / "postgresql.conf").open("a") as conf:
            conf.write("\n# Written anew at each start; what you set below it wins.\n")
            conf.write("include = 'ragkit.conf'\n")
            conf.flush()
            os.fsync(conf.fileno())
        new.rename(self.data)
        _sync(self.data.parent)

    def _write_settings(self, socket_dir: Path, account: Account | None, *, durable: bool) -> None:
        settings = settings_for(this_machine(), durable=durable) | {
            "listen_addresses": "",
            "port": str(PORT),
            "unix_socket_directories": str(socket_dir),
            "unix_socket_permissions": "0700",
        }
        conf = self.data / "ragkit.conf"
        conf.unlink(missing_ok=True)
        with open(conf, "x", encoding="utf-8", opener=private) as file:
            file.writelines(f"{name} = '{value}'\n" for name, value in settings.items())
            if account is not None:
                os.fchown(file.fileno(), account.uid, account.gid)

    def _launch(self, programs: Programs, account: Account | None, lock: FileLock) -> None:
        """Start the server in a session of its own, where no Ctrl-C of ours reaches it.

        pg_ctl hands its options to a shell, hence the quoting.
        """
        if self.log.exists():
            self.log.replace(self.log.with_name("postgres.log.old"))
        command = ["pg_ctl", "start", "--wait", "--silent", f"--timeout={START_TIMEOUT_S}"]
        command += ["--options", f"-D {shlex.quote(str(self.data))}"]
        self.log.touch(mode=0o600)  # it may quote statements
        with self.log.open("wb") as output:
            done = programs.run(
                command,
                account,
                output=output,
                environment={"PGDATA": str(self.data)},
                pass_fds=[lock.fileno()],
            )
        if done.returncode != 0:
            text = self.log.read_text(encoding="utf-8", errors="replace")
            if not text and shutil.disk_usage(self.data).free < 2**20:  # nor could the log be kept
                text = os.strerror(errno.ENOSPC)
            what = f"The embedded PostgreSQL in {self.data.parent} does not start"
            raise failure(what, text, f"see {self.log}")


def _sync(folder: Path) -> None:
    """Have a folder's names on disk, so that a rename outlives the loss of power."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
