"""The ledger's tables, kept apart by tenants."""

from __future__ import annotations

import numpy as np
import pytest

from ragkit.errors import NotFoundError
from ragkit.store.open import open_database
from ragkit.testing import new_document
from ragkit.types import EmbeddingSpace
from tests.core.store.conftest import Tenanted

SPACE = EmbeddingSpace("model", "1", 4)
ROW = np.eye(4, dtype=np.float32)[:1]


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
