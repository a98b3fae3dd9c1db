"""The ledger's tables brought up to date with rows in them, and kept apart by tenants."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import psycopg
import pytest
from psycopg import sql

import ragkit
from ragkit.errors import NotFoundError
from ragkit.store.connect import connect
from ragkit.store.migrate import migrate
from ragkit.store.open import open_database
from ragkit.testing import new_document
from ragkit.types import EmbeddingSpace
from tests.core.store.conftest import Tenanted

SPACE = EmbeddingSpace("model", "1", 4)
ROW = np.eye(4, dtype=np.float32)[:1]


def test_a_database_with_tenants_and_jobs_is_brought_up_to_date(
    unprepared: Tenanted, tmp_path: Path
) -> None:
    every = sorted((Path(ragkit.__file__).parent / "store" / "migrations").glob("*.sql"))
    for path in every:
        if path.name < "0016":
            shutil.copy(path, tmp_path)
    with connect(unprepared.owner_url) as conn:
        assert len(migrate(conn, tmp_path)) == 15
        role = sql.Identifier(unprepared.role)
        conn.execute(sql.SQL("GRANT SELECT, INSERT ON collection TO {}").format(role))
        conn.execute("SELECT ragkit_enforce()")
        with conn.transaction():
            conn.execute("SELECT set_config('ragkit.tenant', 'earlier', true)")
            conn.execute("INSERT INTO collection (tenant, name) VALUES ('earlier', 'c')")
            conn.execute(
                "INSERT INTO document (tenant, collection_id, uri, uri_key, content_hash,"
                " fingerprint, title, language, media_type, metadata, page_starts, page_numbers,"
                " chars, text) SELECT tenant, id, 'u', '', repeat('long', 9000), '', '', '', '',"
                " '{}', '{0,5}', '{1,2}', 9, 'some text' FROM collection"
            )
            conn.execute(
                "INSERT INTO chunk (tenant, id, collection_id, document_id, ordinal, start_char,"
                " end_char, headings, tokens, terms)"
                " SELECT tenant, 1, collection_id, id, 0, 0, 9, '{}', 2, 2 FROM document"
            )
            for uri, state in (("u", "running"), ("done", "done"), ("failed", "failed")):
                conn.execute(
                    "INSERT INTO job (tenant, collection_id, kind, uri, uri_key, state, attempts,"
                    " worker) SELECT tenant, id, 'ingest', %s, sha256(%s), %s, 1, 7"
                    " FROM collection",
                    (uri, uri.encode(), state),
                )
        assert migrate(conn)[0] == "0016_ingestion.sql"
        with conn.transaction():
            conn.execute("SELECT set_config('ragkit.tenant', 'earlier', true)")
            jobs = conn.execute(
                "SELECT uri, state, token, content_hash, finished_at = updated_at FROM job"
                " ORDER BY id"
            )
            assert jobs.fetchall() == [
                ("u", "queued", None, "", None),
                ("done", "done", None, "", True),
                ("failed", "failed", None, "", True),
            ]
            chunk = conn.execute("SELECT lead_start, parent_end, terms FROM chunk").fetchone()
            assert chunk == (None, None, 2)
    with psycopg.connect(unprepared.url) as programs:
        assert programs.execute("SELECT nextval('job_token')").fetchone() == (1,)
        query = "SELECT count(*) FROM document_copy, document_band, ingest_run"
        assert programs.execute(query).fetchone() == (0,)


def test_a_tenants_jobs_runs_and_copies_are_its_own(tenanted: Tenanted) -> None:
    with open_database(tenanted.settings) as database:
        one, two = database.store("one"), database.store("two")
        for store in (one, two):
            store.create_collection("c")
        (collection,) = one.collections()
        run = one.job_ledger.start_run(collection.id, "ingest")
        with one.job_ledger.worker(collection.id, run=run) as worker:
            (job,) = worker.take([("u", "hash of u")])
            new = new_document("u", "some text")
            number = one.put_document("c", new, SPACE, ROW, job=job).id
            (job,) = worker.take(["copy"])
            assert one.put_copy("c", "copy", ("hash of u", "test"), number, job=job)
        assert len(one.job_ledger.jobs(run=run)) == 2
        assert one.job_ledger.counts() == {"c": {"done": 2}}
        assert (two.job_ledger.jobs(), two.job_ledger.runs()) == ([], [])
        for look in (two.job_ledger.job, two.job_ledger.run):
            with pytest.raises(NotFoundError):
                look(run)
        assert two.holders("c", ["hash of u"], "test") == {}
        assert not two.put_copy("c", "copy", ("hash of u", "test"), number)
        assert (set(one.known("c")), set(two.known("c"))) == ({"u", "copy"}, set())
        assert two.delete_uris("c", ["u", "copy"]) == 0
        assert one.delete_uris("c", ["u", "copy"]) == 2
