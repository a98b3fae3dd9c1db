"""A primary server and its streaming standby, made of PostgreSQL's own programs for a test run."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote

import psycopg

from ragkit.store.server.programs import account_for, find_programs

DEADLINE_S = 60
PORTS = {"primary": 5432, "standby": 5433}  # name the sockets only: nothing listens on TCP
CONFIG = """
listen_addresses = ''
unix_socket_directories = '{folder}'
wal_level = replica
fsync = off
shared_buffers = 32MB
"""


class Servers:
    """Both servers, in one folder; the standby streams from the primary."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._programs = find_programs()
        self._account = account_for(folder / "none")
        if self._account is not None:
            shutil.chown(folder, self._account.uid, self._account.gid)

    def make(self) -> None:
        primary, standby = self._folder / "primary", self._folder / "standby"
        self._run("initdb", "--auth=trust", "--username=postgres", "--encoding=UTF8",
                  "--locale=C", "--no-sync", f"--pgdata={primary}")  # fmt: skip
        with (primary / "postgresql.conf").open("a") as conf:
            conf.write(CONFIG.format(folder=self._folder))
        self.start("primary")
        self._run("pg_basebackup", f"--pgdata={standby}", "--write-recovery-conf", "--no-sync",
                  "--checkpoint=fast", f"--dbname={self.url('primary')}")  # fmt: skip
        self.start("standby")

    def start(self, name: str) -> None:
        log, data = self._folder / f"{name}.log", self._folder / name
        self._run("pg_ctl", "start", "--wait", "--silent", f"--pgdata={data}", f"--log={log}",
                  f"--options=-p {PORTS[name]}")  # fmt: skip

    def stop(self, name: str) -> None:
        data = self._folder / name
        if (data / "postmaster.pid").exists():
            self._run("pg_ctl", "stop", "--mode=immediate", f"--pgdata={data}")

    def url(self, name: str, database: str = "postgres", user: str = "postgres") -> str:
        host = quote(str(self._folder), safe="")
        return f"postgresql://{user}@/{database}?host={host}&port={PORTS[name]}"

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Keep the standby from replaying what the primary writes."""
        with psycopg.connect(self.url("standby"), autocommit=True) as conn:
            conn.execute("SELECT pg_wal_replay_pause()")
            end = time.monotonic() + DEADLINE_S
            while conn.execute("SELECT pg_get_wal_replay_pause_state()").fetchone() != ("paused",):
                assert time.monotonic() < end, "the standby does not pause"
                time.sleep(0.005)
            try:
                yield
            finally:
                conn.execute("SELECT pg_wal_replay_resume()")

    def caught_up(self) -> None:
        """Wait until the standby has replayed all that the primary wrote."""
        with (
            psycopg.connect(self.url("primary"), autocommit=True) as primary,
            psycopg.connect(self.url("standby"), autocommit=True) as standby,
        ):
            position = primary.execute("SELECT pg_current_wal_flush_lsn()::text").fetchone()
            end = time.monotonic() + DEADLINE_S
            replayed = "SELECT pg_last_wal_replay_lsn() >= %s::pg_lsn"
            while standby.execute(replayed, position).fetchone() != (True,):
                assert time.monotonic() < end, "the standby does not catch up"
                time.sleep(0.005)

    def _run(self, *command: str) -> None:
        output = self._folder / "output"  # no pipe: a server that goes on would hold it
        with output.open("wb") as file:
            done = self._programs.run(command, self._account, output=file)
        if done.returncode:
            said = output.read_text(errors="replace")
            raise subprocess.CalledProcessError(done.returncode, command, said)


@contextmanager
def servers() -> Iterator[Servers]:
    folder = Path(tempfile.mkdtemp(prefix="ragkit-tests-"))
    made = Servers(folder)
    try:
        made.make()
        yield made
    finally:
        for name in ("standby", "primary"):
            made.stop(name)
        shutil.rmtree(folder)
