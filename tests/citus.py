"""A cluster of PostgreSQL servers with Citus on this machine, for tests and benchmarks.

Citus is built from the source folder that `CITUS_SOURCE` names (environments/citus.py); where it
names none, whoever needs a cluster is skipped.
"""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import psycopg
from psycopg import sql

from ragkit.store.server.programs import Account, Programs, account_for, closed_folder
from tests.places import ROOT, passable_folder

SOURCE: Final = "CITUS_SOURCE"
MISSING: Final = (
    f"{SOURCE} names no folder with Citus's source (docs/howto/grow.md): a cluster cannot be made"
)
_TIMEOUT_S: Final = 60
_SETTINGS: Final = {
    "shared_preload_libraries": "citus",
    "listen_addresses": "127.0.0.1",
    "wal_level": "logical",  # a tenant is moved while it is used
    "max_prepared_transactions": "200",
    "max_connections": "200",
    "max_wal_senders": "16",
    "max_replication_slots": "16",
    "max_worker_processes": "32",
    "citus.node_conninfo": "sslmode=prefer",
    "shared_buffers": "128MB",
    "client_connection_check_interval": "1s",
    "fsync": "off",
    "synchronous_commit": "off",
    "full_page_writes": "off",
    "jit": "off",
}


@dataclass
class Node:
    """One server of a cluster."""

    folder: Path
    port: int
    programs: Programs
    account: Account | None

    @property
    def sockets(self) -> Path:
        return self.folder.parent

    def url(self, database: str, user: str = "postgres") -> str:
        return f"postgresql://{user}@127.0.0.1:{self.port}/{database}?connect_timeout={_TIMEOUT_S}"

    def make(self) -> None:
        """Make the data folder."""
        self.folder.mkdir(mode=0o700, parents=True)
        if self.account is not None:
            os.chown(self.folder, self.account.uid, self.account.gid)
        command = ["initdb", "--auth=trust", "--username=postgres", "--encoding=UTF8", "--no-sync"]
        command += ["--locale=C", "--locale-provider=builtin", "--builtin-locale=C.UTF-8"]
        self._run([*command, f"--pgdata={self.folder}"])
        settings = _SETTINGS | {"port": str(self.port), "unix_socket_directories": ""}
        with (self.folder / "postgresql.conf").open("a") as conf:
            conf.writelines(f"{name} = '{value}'\n" for name, value in settings.items())

    def start(self) -> None:
        """Start the server, and wait until it answers."""
        log = self.folder / "log"
        log.touch()
        if self.account is not None:
            os.chown(log, self.account.uid, self.account.gid)
        command = ["pg_ctl", "start", "--wait", "--silent", f"--timeout={_TIMEOUT_S}"]
        self._run([*command, f"--pgdata={self.folder}", f"--log={log}"])

    def stop(self) -> None:
        """Stop the server at once; it recovers at the next start."""
        self._run(["pg_ctl", "stop", "--silent", "--mode=immediate", f"--pgdata={self.folder}"])

    def kill(self) -> None:
        """Kill the server and its children without warning."""
        postmaster = int((self.folder / "postmaster.pid").read_text().split()[0])
        children = Path(f"/proc/{postmaster}/task/{postmaster}/children").read_text().split()
        for pid in (postmaster, *map(int, children)):
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                continue
        end = time.monotonic() + _TIMEOUT_S
        while Path(f"/proc/{postmaster}").exists() and time.monotonic() < end:
            time.sleep(0.02)
        (self.folder / "postmaster.pid").unlink(missing_ok=True)

    @property
    def running(self) -> bool:
        return (self.folder / "postmaster.pid").exists()

    def _run(self, command: Sequence[str]) -> None:
        libraries = {"LD_LIBRARY_PATH": str(self.programs.folder.parent / "lib")}
        ended = self.programs.run(
            command, self.account, output=subprocess.PIPE, environment=libraries
        )
        assert ended.returncode == 0, ended.stdout.decode()


@dataclass
class Cluster:
    """A coordinator and its workers."""

    coordinator: Node
    workers: list[Node]

    @property
    def nodes(self) -> list[Node]:
        return [self.coordinator, *self.workers]

    def create_database(self, name: str, owner: str = "postgres") -> None:
        """Create a database with pgvector and Citus on every node, and join the nodes."""
        for node in self.nodes:
            with psycopg.connect(node.url("postgres"), autocommit=True) as conn:
                conn.execute("SET citus.enable_create_database_propagation = off")
                statement = "CREATE DATABASE {} TEMPLATE template0 OWNER {}"
                names = sql.Identifier(name), sql.Identifier(owner)
                conn.execute(sql.SQL(statement).format(*names))
            with psycopg.connect(node.url(name), autocommit=True) as conn:
                conn.execute("CREATE EXTENSION citus")
        with psycopg.connect(self.coordinator.url(name), autocommit=True) as conn:
            host = "127.0.0.1"
            conn.execute("SELECT citus_set_coordinator_host(%s, %s)", (host, self.coordinator.port))
            for worker in self.workers:
                conn.execute("SELECT citus_add_node(%s, %s)", (host, worker.port))
            conn.execute("CREATE EXTENSION IF NOT EXISTS vector")

    def drop_database(self, name: str) -> None:
        """Drop a database of every node that runs."""
        for node in self.nodes:
            if node.running:
                with psycopg.connect(node.url("postgres"), autocommit=True) as conn:
                    statement = "DROP DATABASE IF EXISTS {} WITH (FORCE)"
                    conn.execute(sql.SQL(statement).format(sql.Identifier(name)))

    def create_role(self, name: str) -> None:
        """Create a role that may log in, on every node."""
        for node in self.nodes:
            with psycopg.connect(node.url("postgres"), autocommit=True) as conn:
                conn.execute(sql.SQL("CREATE ROLE {} LOGIN").format(sql.Identifier(name)))


@contextmanager
def cluster(workers: int) -> Iterator[Cluster]:
    """Make and start a cluster; nothing of it is left at the end."""
    place = passable_folder()
    try:
        server = _installed(place)
        account = account_for(place / "new")
        ports = _free_ports(workers + 1)
        nodes = [Node(place / f"node{n}", port, server, account) for n, port in enumerate(ports)]
        for node in nodes:
            node.make()
        try:
            for node in nodes:
                node.start()
            yield Cluster(nodes[0], nodes[1:])
        finally:
            for node in nodes:
                if node.running:
                    node.stop()
    finally:
        shutil.rmtree(place)


def source() -> Path | None:
    """Give the folder with Citus's source that the environment names."""
    named = os.environ.get(SOURCE)
    return Path(named) if named else None


def _installed(place: Path) -> Programs:
    """Build Citus, or take the built one from the cache, where the servers' account may read it."""
    named = source()
    assert named is not None, MISSING
    build = [sys.executable, str(ROOT / "environments" / "citus.py"), str(named)]
    ended = subprocess.run(build, check=True, stdout=subprocess.PIPE, text=True)
    folder = Path(ended.stdout.strip())
    account = account_for(place / "new")
    if account is not None and closed_folder(folder / "server", account) is not None:
        shutil.copytree(folder, place / "citus", symlinks=True)
        folder = place / "citus"
    return Programs((folder / "server" / "bin").resolve(), 18)


def _free_ports(number: int) -> list[int]:
    sockets = [socket.socket() for _ in range(number)]
    try:
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        return [int(each.getsockname()[1]) for each in sockets]
    finally:
        for each in sockets:
            each.close()
