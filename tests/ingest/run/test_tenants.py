"""Ingestion and the worker as the role that row-level security binds, through PgBouncer."""

from __future__ import annotations

from pathlib import Path

import psycopg

from ragkit.knowledge.base import KnowledgeBase
from ragkit.store.open import open_database
from ragkit_ingest.run.run import ingest
from tests.core.store.conftest import Tenanted, tenanted, unprepared
from tests.core.store.connection.test_pooler import pooled_url
from tests.ingest.worker.test_worker import keep, running, settled

__all__ = ["pooled_url", "tenanted", "unprepared"]  # fixtures


def test_each_tenant_has_what_it_took_in(
    tenanted: Tenanted, pooled_url: str, tmp_path: Path
) -> None:
    pooled = {"database_url": pooled_url, "database_pooler": "transaction"}
    one = tenanted.settings_with(**pooled, tenant="one")
    (tmp_path / "a.txt").write_text("The canary sings at noon in the old library.")
    assert ingest([tmp_path / "a.txt"], settings=one, collection="c").added == 1
    with open_database(one) as database:
        database.store("default").create_collection("c")
        with running(
            pooled_url,
            database_owner_url=tenanted.owner_url,
            database_pooler="transaction",
            tenants="on",
        ):
            uploads = keep(database.pool, b__txt="The raven sleeps until dusk in the mill.")
            (done,) = settled(database.pool, uploads)
        assert (done.state, done.total) == ("done", 1)
        for tenant, question, said in (
            ("one", "When does the canary sing?", "The canary sings at noon"),
            ("one", "Until when does the raven sleep?", None),
            ("default", "Until when does the raven sleep?", "The raven sleeps until dusk"),
            ("default", "When does the canary sing?", None),
        ):
            answer = KnowledgeBase.over(database, one, tenant=tenant, collection="c").ask(question)
            assert answer.refused == (said is None)
            assert said is None or answer.text.startswith(said)
            assert {hit.uri for hit in answer.hits} <= (
                {"upload:b.txt"} if tenant == "default" else {str(tmp_path / "a.txt")}
            )
    with psycopg.connect(tenanted.admin_url) as conn:
        found = conn.execute("SELECT tenant, count(*) FROM document GROUP BY 1 ORDER BY 1")
        assert found.fetchall() == [("default", 1), ("one", 1)]
