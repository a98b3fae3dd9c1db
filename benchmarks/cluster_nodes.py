"""Three systems to compare: one server, Citus on one node, a coordinator with two workers.

All are PostgreSQL 18 on this machine with the same settings, reached by TCP. What is measured on
them is not known here.
"""

from __future__ import annotations

import shutil
import socket
import uuid
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import psycopg
from psycopg import sql
from pydantic import SecretStr

from benchmarks.homes import passable_folder
from ragkit.settings.settings import Settings
from ragkit.store.open import prepare_database
from ragkit.store.server.programs import Programs, account_for, closed_folder, find_programs
from tests.citus import Cluster, Node, cluster

SHARDS = 8
HOST = "127.0.0.1"
ALONE, SINGLE, SEVERAL = "one server", "Citus, one node", "Citus, coordinator and two workers"


@dataclass(frozen=True, slots=True)
class Place:
    """An empty or filled database of a system: its name, and the settings that open it."""

    name: str
    settings: Settings

    @property
    def owner_url(self) -> str:
        assert self.settings.database_owner_url is not None
        return self.settings.database_owner_url.get_secret_value()


@dataclass(frozen=True, slots=True)
class System:
    """Servers that store the same documents, with Citus or without."""

    name: str
    cluster: Cluster
    has_citus: bool

    @contextmanager
    def database(self, *, distribute: bool = True, waits: bool = False) -> Iterator[Place]:
        """Make a database ready for tenants, dropped afterwards.

        Without `distribute` its tables stay on the coordinator. `waits`: a commit is written before
        it is answered, so that a killed server loses none.
        """
        name = f"bench_{uuid.uuid4().hex[:8]}"
        owner, runtime = f"{name}_owner", f"{name}_app"
        for role in (owner, runtime):
            self.cluster.create_role(role)
        try:
            self._create(name, owner)
            self._set(name, self.cluster.nodes, "synchronous_commit", "on" if waits else "off")
            url, owner_url = (
                SecretStr(self.cluster.coordinator.url(name, user)) for user in (runtime, owner)
            )
            settings = Settings(
                database_url=url, database_owner_url=owner_url, tenants="on", tenant="t0"
            )
            prepare_database(settings, citus=distribute and self.has_citus)
            yield Place(name, settings)
        finally:
            self.cluster.drop_database(name)

    def _create(self, name: str, owner: str) -> None:
        node = self.cluster.coordinator
        if not self.has_citus:
            with psycopg.connect(node.url("postgres"), autocommit=True) as conn:
                create = "CREATE DATABASE {} TEMPLATE template0 OWNER {}"
                names = sql.Identifier(name), sql.Identifier(owner)
                conn.execute(sql.SQL(create).format(*names))
            with psycopg.connect(node.url(name), autocommit=True) as conn:
                conn.execute("CREATE EXTENSION vector")
            return
        self.cluster.create_database(name, owner)
        self._set(name, [node], "citus.shard_count", SHARDS)
        if not self.cluster.workers:
            with psycopg.connect(node.url(name), autocommit=True) as conn:
                holds = "SELECT citus_set_node_property(%s, %s, 'shouldhaveshards', true)"
                conn.execute(holds, (HOST, node.port))

    def _set(self, name: str, nodes: Sequence[Node], setting: str, value: str | int) -> None:
        statement = sql.SQL("ALTER DATABASE {} SET {} = {}").format(
            sql.Identifier(name), sql.Identifier(*setting.split(".")), sql.Literal(value)
        )
        for node in nodes:
            with psycopg.connect(node.url("postgres"), autocommit=True) as conn:
                conn.execute(statement)


@contextmanager
def systems() -> Iterator[list[System]]:
    """Start the servers of all systems, each stopped and removed afterwards."""
    with ExitStack() as stack:
        yield [
            System(ALONE, stack.enter_context(_server()), has_citus=False),
            System(SINGLE, stack.enter_context(cluster(workers=0)), has_citus=True),
            System(SEVERAL, stack.enter_context(cluster(workers=2)), has_citus=True),
        ]


@contextmanager
def _server() -> Iterator[Cluster]:
    """Start the PostgreSQL that ragkit embeds, with the settings of a cluster's nodes."""
    with passable_folder() as folder:
        place = Path(folder)
        account = account_for(place / "new")
        programs = find_programs()
        if account is not None and closed_folder(programs.folder, account) is not None:
            programs = _copied(programs, place)
        node = Node(place / "node", _free_port(), programs, account)
        node.make()
        with (node.folder / "postgresql.conf").open("a") as conf:
            conf.write("shared_preload_libraries = ''\n")  # the last line wins
        node.start()
        try:
            yield Cluster(node, [])
        finally:
            node.stop()


def _copied(programs: Programs, place: Path) -> Programs:
    """Copy PostgreSQL and its libraries to where the server's account may read them."""
    server = programs.folder.parent
    package = server.parent
    for folder in (server, package.with_name(f"{package.name}.libs")):
        if folder.is_dir():
            shutil.copytree(folder, place / folder.relative_to(package.parent), symlinks=True)
    return Programs(place / package.name / server.name / "bin", programs.major)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        return int(probe.getsockname()[1])
