"""Fitted cut-offs in the real database: kept per collection, model, reranker and mode."""

from collections.abc import Iterator
from dataclasses import replace

import pytest

from ragkit.errors import NotFoundError
from ragkit.stats.cutoff import Cutoff
from ragkit.store.connection.connect import connect, open_pool
from ragkit.store.connection.migrate import migrate
from ragkit.store.people.calibration import Calibration, Calibrations, CurrentCutoff, space_of
from ragkit.store.postgres import PostgresStore
from ragkit.testing import FakeEmbedder, FakeReranker

CUTOFF = Cutoff(bias=-0.5, weights=(3.0, 0.25, 1.5), means=(0.5, 0.125, 0.75), threshold=0.75)


@pytest.fixture
def kept(fresh_database: str) -> Iterator[Calibrations]:
    with connect(fresh_database) as conn:
        migrate(conn)
    pool = open_pool(fresh_database)
    for tenant in ("default", "other"):
        PostgresStore(pool, tenant=tenant).create_collection("c")
    PostgresStore(pool).create_collection("d")
    yield Calibrations(pool, "default")
    pool.close()


@pytest.fixture
def embedder() -> FakeEmbedder:
    made = FakeEmbedder()
    made.load()
    return made


@pytest.fixture
def made(embedder: FakeEmbedder) -> Calibration:
    return Calibration(
        space=embedder.space, reranker="", mode="hybrid", cutoff=CUTOFF, data_hash="abc",
        answerable=30, unanswerable=20, chunks=7, auc=0.875,
    )  # fmt: skip


def test_what_was_kept_comes_back_with_its_date(kept: Calibrations, made: Calibration) -> None:
    kept.save("c", made)
    (found,) = kept.of("c")
    assert found.fitted_at is not None
    assert replace(found, fitted_at=None) == made


def test_a_new_fit_takes_the_old_ones_place(kept: Calibrations, made: Calibration) -> None:
    kept.save("c", made)
    kept.save("c", replace(made, data_hash="new", cutoff=replace(CUTOFF, threshold=0.5)))
    (found,) = kept.of("c")
    assert (found.data_hash, found.cutoff.threshold) == ("new", 0.5)


def test_collections_tenants_modes_and_rerankers_are_apart(
    kept: Calibrations, made: Calibration
) -> None:
    kept.save("c", made)
    kept.save("c", replace(made, mode="lexical", space=None))
    kept.save("c", replace(made, reranker="r"))
    assert len(kept.of("c")) == 3
    assert kept.of("d") == []
    assert Calibrations(kept._pool, "other").of("c") == []
    assert kept.reset("c") == 3
    assert kept.of("c") == []


def test_it_goes_with_its_collection(kept: Calibrations, made: Calibration) -> None:
    kept.save("c", made)
    store = PostgresStore(kept._pool)
    store.delete_collection("c")
    store.create_collection("c")
    assert kept.of("c") == []


def test_an_unknown_collection_is_named(kept: Calibrations, made: Calibration) -> None:
    for call in (lambda: kept.save("x", made), lambda: kept.of("x"), lambda: kept.reset("x")):
        with pytest.raises(NotFoundError, match="'x'"):
            call()


def test_the_current_cutoff_is_of_this_model_reranker_and_mode(
    kept: Calibrations, made: Calibration, embedder: FakeEmbedder
) -> None:
    current = CurrentCutoff(PostgresStore(kept._pool), "c", embedder)
    assert current("hybrid") is None
    kept.save("c", made)
    assert current("hybrid") == CUTOFF
    assert current("dense") is None
    assert current("lexical") is None
    assert (
        CurrentCutoff(PostgresStore(kept._pool), "c", FakeEmbedder(dimension=8))("hybrid") is None
    )
    reranker = FakeReranker()
    assert (
        CurrentCutoff(PostgresStore(kept._pool), "c", embedder, reranker=reranker)("hybrid") is None
    )
    older = replace(CUTOFF, signals=("cosine", "something older"))
    kept.save("c", replace(made, cutoff=older))
    assert current("hybrid") is None


def test_words_alone_need_no_model(kept: Calibrations, made: Calibration) -> None:
    unloaded = FakeEmbedder()
    assert space_of(unloaded, "lexical") is None
    kept.save("c", replace(made, mode="lexical", space=None))
    assert CurrentCutoff(PostgresStore(kept._pool), "c", unloaded)("lexical") == CUTOFF
