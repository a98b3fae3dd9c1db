"""Searching and writing side by side as the role that row-level security binds."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import numpy as np
import psycopg
import pytest

from ragkit.store import inspect
from ragkit.store.acting import act_for
from ragkit.store.connect import open_pool
from ragkit.store.lending import snapshot, transaction
from ragkit.store.open import Database, open_database
from ragkit.store.postgres import PostgresStore
from ragkit.store.sharing import Change, Shares
from ragkit.types import EmbeddingSpace
from tests.core.store.conftest import Tenanted
from tests.core.store.test_postgres import SPACE, document, normalised, unit
from tests.core.store.test_tenancy import tenants

if TYPE_CHECKING:
    from ragkit.contracts import Vectors


@pytest.fixture(scope="module")
def database(tenanted: Tenanted) -> Iterator[Database]:
    with open_database(tenanted.settings) as opened:
        yield opened


def test_a_small_tenant_finds_its_own_among_many(database: Database, tenanted: Tenanted) -> None:
    """A tenant with 0.5% of 12,000 rows, an HNSW index over all of them: recall@10 as promised."""
    dimension, many, few = 16, 11_940, 60
    space = EmbeddingSpace("crowd", "1", dimension)
    rng = np.random.default_rng(7)
    centres = rng.normal(size=(50, dimension))

    def some(n: int) -> Vectors:
        noise = rng.normal(size=(n, dimension)) / 2
        return normalised((centres[rng.integers(50, size=n)] + noise).astype(np.float32))

    vectors = {"few": some(few), "many": some(many)}
    with contextlib.closing(open_pool(tenanted.admin_url)) as pool:  # quicker: by COPY
        for tenant, of in vectors.items():
            store = PostgresStore(pool, tenant=tenant)
            store.create_collection("c")
            texts = ["w"] * len(of)
            database.store(tenant).put_document("c", document("first", "w"), space, of[:1])
            store.put_document("c", document("d", *texts), space, of)
    database.store("many").finish_load("c", space)
    with psycopg.connect(tenanted.admin_url) as conn:
        built = conn.execute("SELECT FROM pg_indexes WHERE indexdef LIKE '%USING hnsw%'").fetchall()
    assert len(built) == 1
    with snapshot(database.pool, "many") as cursor:  # the policies leave the plan as it is
        used, whole = inspect.unused_indexes(cursor, "many")
    assert [name for name in used if "nearest" in name]
    assert whole == []
    for tenant, of in vectors.items():
        stored = of.astype(np.float16).astype(np.float32)
        good = 0
        with database.store(tenant).snapshot() as reader:
            for query in some(30):
                found = reader.nearest("c", space, query, 10)
                assert len({chunk for chunk, _ in found}) == 10
                tenth = np.sort(stored @ query)[-10]
                good += sum(score >= tenth - 1e-3 for _, score in found)
        assert good / 300 >= 0.95


def test_two_tenants_at_once_never_mix(database: Database) -> None:
    loads = [f"load {n}" for n in range(2)]
    mixed(database, loads, rounds=6)


def mixed(database: Database, loads: list[str], *, rounds: int) -> None:
    """Let threads write and search for tenants by turns, on whatever connection is free."""
    for tenant in loads:
        database.store(tenant).create_collection("c")

    def work(n: int) -> None:
        for step in range(rounds):
            tenant = loads[(n + step) % len(loads)]
            act_for(loads[(n + step + 1) % len(loads)], "")  # somebody else's, on purpose
            store = database.store(tenant)
            text = f"{tenant} says {n} {step}"
            made = store.put_document(
                "c", document(f"{n}-{step}", text), SPACE, unit(1, 0, n, step)
            )
            assert store.text(made.id) == text
            with store.snapshot() as reader:
                found = reader.nearest("c", SPACE, unit(1, 0, n, step)[0], 50)
                hits = reader.hits([chunk for chunk, _ in found])
                assert {hit.text[: len(tenant)] for hit in hits} == {tenant}
            with transaction(database.pool, tenant) as cursor:
                assert tenants(cursor, "document") == {tenant}

    with ThreadPoolExecutor(8) as threads:
        for done in [threads.submit(work, n) for n in range(8)]:
            done.result()
    for tenant in loads:
        documents = database.store(tenant).documents("c")
        assert len(documents) == 8 * rounds // len(loads)


def test_sharing_under_the_policies_is_seen_by_the_next_search(database: Database) -> None:
    store = database.store("sharing")
    store.create_collection("c")
    (one,) = store.put_documents("c", [(document("d", "wing"), unit(1, 0, 0, 0))], SPACE)
    store.put_document("c", document("e", "tail"), SPACE, unit(0, 1, 0, 0))
    ada = database.store("sharing", readers=("user:ada",))

    def seen() -> int:
        with ada.snapshot() as reader:
            return reader.postings("c", ["wing", "tail"]).chunks

    assert seen() == 2
    shares = Shares(database.pool, "sharing")
    shares.document(one.id, Change(readers=("group:hr",)))
    assert seen() == 1
    shares.document(one.id, Change(add=("user:ada",)))
    assert seen() == 2
