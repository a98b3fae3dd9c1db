"""A database that is distributed by tenant over a Citus cluster, as the guide has it."""

from __future__ import annotations

import time
import uuid
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import psycopg
import pytest
from psycopg import sql

from ragkit.contracts import Store
from ragkit.errors import DatabaseError, NotFoundError
from ragkit.store.admin import backup, inspect
from ragkit.store.connection import citus
from ragkit.store.open import Database, open_database, prepare_database
from ragkit.store.session import open_session
from ragkit.testing.conformance.store import StoreConformance
from tests.citus import MISSING, Cluster, Node, cluster, source
from tests.core.embed.tiny_model import write_model
from tests.core.store.conftest import Tenanted
from tests.core.store.test_partitioned import check_two_tenants, found, put, store_two_tenants
from tests.faults.commands import finish, start, until, write_file

pytestmark = [pytest.mark.long, pytest.mark.skipif(source() is None, reason=MISSING)]
SHARDS = 4
FILES = 60


@pytest.fixture(scope="module")
def nodes() -> Iterator[Cluster]:
    with cluster(workers=2) as made:
        yield made


def new_database(nodes: Cluster) -> Tenanted:
    """Make an empty database on every node, its owner's, and the role of programs."""
    name = f"test_{uuid.uuid4().hex[:12]}"
    owner, runtime = f"{name}_owner", f"{name}_app"
    for role in (owner, runtime):
        nodes.create_role(role)
    nodes.create_database(name, owner)
    return Tenanted(*(nodes.coordinator.url(name, user) for user in ("postgres", owner, runtime)))


@pytest.fixture(scope="module")
def tenanted(nodes: Cluster) -> Tenanted:
    """Tenants are on, two of them were there before the tables were distributed."""
    made = new_database(nodes)
    prepare_database(made.settings)
    store_two_tenants(made)
    distribute(made)
    return made


def distribute(made: Tenanted) -> None:
    with psycopg.connect(made.admin_url, autocommit=True) as conn:
        database = sql.Identifier(made.name)
        setting = sql.SQL("ALTER DATABASE {} SET citus.shard_count = {}")
        conn.execute(setting.format(database, sql.Literal(SHARDS)))
    done = prepare_database(made.settings, citus=True)
    assert "distributed over 2 nodes" in done[-1]


@pytest.fixture(scope="module")
def database(tenanted: Tenanted) -> Iterator[Database]:
    with open_database(tenanted.settings) as opened:
        yield opened


class TestConformance(StoreConformance):
    @pytest.fixture
    def store(self, database: Database) -> Store:
        return database.store(f"t {uuid.uuid4()}")


def test_what_was_there_is_found(database: Database) -> None:
    check_two_tenants(database)


def test_a_backup_moves_between_a_cluster_and_one_server(
    tenanted: Tenanted, nodes: Cluster, empty_database: str, tmp_path: Path
) -> None:
    saved = backup.back_up(tenanted.owner_url, tmp_path / "backup")
    assert saved.tables["document"][0] > 4
    assert len(saved.searches) > 4
    assert backup.restore(empty_database, tmp_path / "backup") == saved
    other = new_database(nodes)
    assert backup.restore(other.owner_url, tmp_path / "backup") == saved
    prepare_database(other.settings)
    distribute(other)
    assert backup.back_up(other.owner_url, tmp_path / "again").tables == saved.tables
    with open_database(other.settings) as database:
        assert found(database.store("before"), "canary")[0] == "the canary of before"


def test_nodes_are_listed_with_their_share(tenanted: Tenanted, nodes: Cluster) -> None:
    with psycopg.connect(tenanted.owner_url, autocommit=True) as conn:
        listed = citus.nodes(conn)
    assert [node.port for node in listed] == [node.port for node in nodes.nodes]
    assert [node.is_coordinator for node in listed] == [True, False, False]
    assert [node.shards for node in listed] == [0, SHARDS // 2, SHARDS // 2]
    assert all(node.answers and node.size_bytes for node in listed)


def test_a_tenant_moves_to_another_node_while_it_is_used(
    database: Database, tenanted: Tenanted, nodes: Cluster
) -> None:
    with psycopg.connect(tenanted.owner_url, autocommit=True) as conn:
        moved = [
            citus.move_tenant(conn, "before", "127.0.0.1", worker.port) for worker in nodes.workers
        ]
        moved.append(citus.move_tenant(conn, "before", "127.0.0.1", nodes.workers[1].port))
        assert moved[1:] == [True, False]
        for place, problem in ((("127.0.0.1", 1), "no node"), (("elsewhere", 5432), "no node")):
            with pytest.raises(NotFoundError, match=problem):
                citus.move_tenant(conn, "before", *place)
        with pytest.raises(NotFoundError, match="no tenant 'nobody'"):
            citus.move_tenant(conn, "nobody", "127.0.0.1", nodes.workers[0].port)
    for tenant in ("before", "beside"):
        store = database.store(tenant)
        assert found(store, "canary")[0] == f"the canary of {tenant}"
        put(store, "c", f"a magpie of {tenant}")
        assert found(store, "magpie")[0] == f"a magpie of {tenant}"


def node_of(tenanted: Tenanted, nodes: Cluster, tenant: str) -> Node:
    """Find the node that has a tenant's rows."""
    with psycopg.connect(tenanted.owner_url) as conn:
        row = conn.execute(
            "SELECT nodeport FROM pg_dist_shard JOIN pg_dist_placement USING (shardid)"
            " JOIN pg_dist_node USING (groupid)"
            " WHERE shardid = get_shard_id_for_distribution_column('collection', %s::text)",
            (tenant,),
        ).fetchone()
    assert row is not None
    return next(node for node in nodes.workers if node.port == row[0])


def test_a_stopped_node_stops_its_own_tenants_alone(
    database: Database, tenanted: Tenanted, nodes: Cluster
) -> None:
    names = [f"tenant {n}" for n in range(8)]
    for name in names:
        database.store(name).create_collection("c")
        put(database.store(name), "a", f"the heron of {name}")
    stopped = nodes.workers[0]
    stopped.stop()
    try:
        lost = 0
        for name in names:
            if node_of(tenanted, nodes, name) is not stopped:
                assert found(database.store(name), "heron") == [f"the heron of {name}"]
                continue
            lost += 1
            store = database.store(name)
            for action in (partial(found, store, "heron"), partial(put, store, "b", "a kite")):
                began = time.monotonic()
                with pytest.raises(DatabaseError) as caught:
                    action()
                assert "\n" not in str(caught.value)
                assert str(stopped.port) in str(caught.value)
                assert time.monotonic() - began < 10  # it does not wait for the pool to give up
        assert 0 < lost < len(names)
        with psycopg.connect(tenanted.owner_url, autocommit=True) as conn:
            assert [node.answers for node in citus.nodes(conn)] == [True, False, True]
    finally:
        stopped.start()
    for name in names:
        assert found(database.store(name), "heron") == [f"the heron of {name}"]


def test_a_node_killed_in_the_middle_of_an_ingestion_loses_nothing(
    database: Database, tenanted: Tenanted, nodes: Cluster, tmp_path: Path
) -> None:
    """The ingestion waits for the node, and has everything in the end."""
    folder = tmp_path / "documents"
    folder.mkdir()
    for number in range(FILES):
        write_file(folder / f"{number:02}.md", 1)
    model = write_model(tmp_path / "model", seed=1)
    settings = {
        "database_owner_url": tenanted.owner_url,
        "tenants": "on",
        "tenant": "ingesting",
        "embed_model": str(model),
    }

    def stored() -> list[str]:
        with psycopg.connect(tenanted.owner_url) as conn:
            rows = conn.execute("SELECT uri FROM document WHERE tenant = 'ingesting'").fetchall()
        return [uri for (uri,) in rows]

    run = start(tenanted.url, "ingest", str(folder), "--json", **settings)
    until(lambda: bool(stored()), run, "something was stored")
    node = node_of(tenanted, nodes, "ingesting")
    node.kill()
    assert run.is_running(wait_s=3)
    node.start()
    report = finish(run)
    assert report["documents"]["failed"] == 0
    assert len(set(stored())) == FILES
    again = finish(start(tenanted.url, "ingest", str(folder), "--json", **settings))
    assert again["documents"]["unchanged"] == FILES
    with open_session(database.pool, "ingesting", snapshot=True) as session:
        assert set(inspect.orphans(session).values()) == {0}
