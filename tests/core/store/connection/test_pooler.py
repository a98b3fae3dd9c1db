"""Everything through PgBouncer in transaction mode: two server connections for eight at once."""

from __future__ import annotations

import io
import os
import pwd
import shutil
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from urllib.parse import quote
from uuid import uuid4

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict

from ragkit.access import keys
from ragkit.errors import DatabaseError
from ragkit.settings.settings import Settings
from ragkit.store.connection.identity import PooledConnection
from ragkit.store.connection.transactions import transaction
from ragkit.store.jobs.ledger import Ledger
from ragkit.store.jobs.upload_bytes import Sources, Upload
from ragkit.store.jobs.uploads import UploadJobs
from ragkit.store.open import Database, open_database
from tests.core.store.conftest import Tenanted
from tests.core.store.test_postgres import SPACE, document, random_vectors
from tests.core.store.test_tenant_search import mixed
from tests.core.store.uploads import next_upload, source_of, take_upload, upload_worker

PROGRAM = Path("/usr/sbin/pgbouncer")
PORT = 6432  # names the socket only: nothing listens on TCP
CONFIG = """
[databases]
* = host={server} port=5432
[pgbouncer]
listen_addr =
listen_port = {port}
unix_socket_dir = {folder}
auth_type = trust
auth_file = {folder}/users
pool_mode = transaction
default_pool_size = 2
max_client_conn = 100
query_wait_timeout = 20
"""


@pytest.fixture(scope="module")
def pooled_url(tenanted: Tenanted) -> Iterator[str]:
    """The address of the tenants' database behind a PgBouncer of its own."""
    if not PROGRAM.exists():
        pytest.skip(f"there is no {PROGRAM}: apt-get install pgbouncer")
    server = Path(str(conninfo_to_dict(tenanted.url)["host"]))
    folder = Path(tempfile.mkdtemp(prefix="ragkit-tests-"))
    account = pwd.getpwuid(server.stat().st_uid)  # who may enter the server's folder
    (folder / "users").write_text(f'"{tenanted.role}" ""\n')
    config = folder / "pgbouncer.ini"
    config.write_text(CONFIG.format(server=server, port=PORT, folder=folder))
    command = [str(PROGRAM), "-q", str(config)]
    if os.geteuid() == 0:  # as which it refuses to run
        shutil.chown(folder, account.pw_uid, account.pw_gid)
        command[1:1] = ["-u", account.pw_name]
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log)
    url = f"{tenanted.url.partition('?')[0]}?host={quote(str(folder), safe='')}&port={PORT}"
    try:
        wait_for(url, folder / "log")
        yield url
    finally:
        process.terminate()
        process.wait(timeout=60)
        shutil.rmtree(folder)


def wait_for(url: str, log: Path) -> None:
    end = time.monotonic() + 60
    while True:
        try:
            psycopg.connect(url).close()
        except psycopg.OperationalError:
            if time.monotonic() > end:
                pytest.fail(f"pgbouncer does not answer: {log.read_text()}")
            time.sleep(0.02)
        else:
            return


@pytest.fixture(scope="module")
def settings(tenanted: Tenanted, pooled_url: str) -> Settings:
    return tenanted.settings_with(database_url=pooled_url, database_pooler="transaction")


@pytest.fixture(scope="module")
def database(settings: Settings) -> Iterator[Database]:
    with open_database(settings) as opened:
        yield opened


def test_without_the_servers_own_address_nothing_is_built(settings: Settings) -> None:
    alone = settings.model_copy(update={"database_owner_url": None, "tenants": "off"})
    with open_database(alone) as opened:
        store = opened.store(f"t {uuid4()}")
        store.create_collection("c")
        with pytest.raises(DatabaseError, match="server itself: set RAGKIT_DATABASE_OWNER_URL"):
            store.finish_load("c", SPACE)


def test_a_document_is_stored_searched_replaced_and_deleted(database: Database) -> None:
    store = database.store(f"t {uuid4()}", durable=False)
    store.create_collection("c")
    with store.job_ledger.worker(store.collections()[0].id) as worker:
        worker.enqueue(["a"])
        (job,) = worker.claim(["a"], limit=1)
        new = document("a", "the canary sings", "bells at noon")
        stored = store.put_document("c", new, SPACE, random_vectors(2), job=job)
        assert worker.outcomes(["a"])["a"].state == "done"
    for n in range(12):  # enough segments for a merge
        store.put_document("c", document(f"m{n}", "a raven"), SPACE, random_vectors(1, seed=n))
    store.finish_load("c", SPACE)
    with store.snapshot() as reader:
        found = reader.nearest("c", SPACE, random_vectors(2)[0], 3)
        assert len(found) == 3
        assert reader.hits([found[0][0]])[0].text == "the canary sings"
    again = store.put_document("c", document("a", "quiet"), SPACE, random_vectors(1))
    assert (again.id, again.version) == (stored.id, 2)
    store.delete_document("c", stored.id)
    store.finish_load("c", SPACE)
    assert len(store.documents("c")) == 12


def test_a_whole_question(settings: Settings, database: Database) -> None:
    from ragkit.knowledge.base import KnowledgeBase
    from ragkit.testing.embedder import FakeEmbedder

    tenant = f"t {uuid4()}"
    embedder = FakeEmbedder()
    embedder.load()
    store = database.store(tenant)
    store.create_collection("c")
    texts = ["The canary sings at noon in the old library."]
    texts += [f"Report {n} counts {n * 7} boxes of paper on shelf {n}." for n in range(20)]
    vectors = embedder.embed_passages(texts)
    store.put_document("c", document("a", *texts), embedder.space, vectors)
    kb = KnowledgeBase.over(database, settings, tenant=tenant, collection="c", embedder=embedder)
    with ThreadPoolExecutor(8) as threads:
        answers = list(threads.map(kb.ask, ["When does the canary sing in the library?"] * 16))
    assert {answer.text.partition(" [")[0] for answer in answers} == {texts[0]}


def test_uploads_are_taken_and_given_back(database: Database) -> None:
    tenant = f"t {uuid4()}"
    database.store(tenant).create_collection("c")
    file = Upload("a.txt", io.BytesIO(b"x" * 3_000_000))
    (job,) = Sources(database.pool, tenant).keep("c", [file], principal="p", key="k")
    with (
        upload_worker(database.pool, tenant) as first,
        upload_worker(database.pool, tenant) as second,
    ):
        taken = take_upload(first)
        assert taken.id == job
        assert next_upload(second) is None  # no lock tells that the first lives; its lease does
        sources = Sources(database.pool, tenant)
        assert sum(map(len, sources.parts(sources.get(source_of(taken))))) == 3_000_000
        assert first.progress([(taken, 1, 2)]) == [True]
        first.close()
        released = take_upload(second)
        assert (released.id, released.attempts) == (job, 1)
        second.fail(released, "parse", "no")
    assert UploadJobs(database.pool, tenant).get(job).state == "failed"


def test_a_worker_with_a_lock_leaves_a_pooled_ones_job_alone(
    database: Database, tenanted: Tenanted
) -> None:
    tenant = f"t {uuid4()}"
    number = database.store(tenant).create_collection("c").id
    with (
        open_database(tenanted.settings) as direct,
        Ledger(database.pool, tenant).worker(number) as pooled,
        Ledger(direct.pool, tenant).worker(number) as locked,
    ):
        pooled.enqueue(["a", "b"])
        assert [job.uri for job in pooled.claim(["a", "b"], limit=1)] == ["a"]
        assert [job.uri for job in locked.claim(["a", "b"], limit=9)] == ["b"]
        assert pooled.claim(["a", "b"], limit=9) == []


def test_nothing_stays_on_a_server_connection(database: Database) -> None:
    """What a transaction set, whoever gets its server connection next, is not there any more."""
    with transaction(database.pool, "somebody") as cursor:
        cursor.execute("SET LOCAL hnsw.ef_search = 77")
    with database.pool.connection() as conn:
        assert isinstance(conn, PooledConnection)
        for _ in range(4):
            row = conn.execute(
                "SELECT current_setting('ragkit.tenant', true), current_setting('lock_timeout'),"
                " (SELECT count(*) FROM pg_prepared_statements),"
                " (SELECT count(*) FROM pg_locks WHERE locktype = 'advisory'"
                "    AND pid = pg_backend_pid())"
            ).fetchone()
            assert row in {("", "0", 0, 0), (None, "0", 0, 0)}


def test_eight_at_once_over_two_connections_never_mix(database: Database) -> None:
    mixed(database, [f"load {uuid4()}" for _ in range(2)], rounds=6)
    made = {f"k{n}": f"key {uuid4()}" for n in range(8)}
    secrets = {
        tenant: keys.create(database, name=name, tenant=tenant).secret
        for name, tenant in made.items()
    }
    start = threading.Barrier(8)

    def verify(tenant: str) -> None:
        start.wait()
        for _ in range(10):
            found = keys.verify(database, secrets[tenant])
            assert found is not None
            assert found.tenant == tenant

    with ThreadPoolExecutor(8) as threads:
        for done in [threads.submit(verify, tenant) for tenant in made.values()]:
            done.result()
