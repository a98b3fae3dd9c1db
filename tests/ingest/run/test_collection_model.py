"""Ingestion into a collection that has a model of its own, whatever the settings name."""

import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr

from ragkit import KnowledgeBase
from ragkit.errors import OtherModelError
from ragkit.knowledge.embedders import Embedders
from ragkit.settings.ingest_options import IngestOptions
from ragkit.settings.settings import Settings
from ragkit.store.jobs.upload_bytes import Sources, Upload
from ragkit.store.jobs.uploads import UploadJobs
from ragkit.store.open import Database, open_database
from ragkit.text.analyse import ANALYSER, FIRST_ANALYSER
from ragkit.upkeep.reembed import build, roll_back, switch
from ragkit_ingest.run.fingerprint import fingerprint
from ragkit_ingest.run.recipe import steps_of
from ragkit_ingest.run.run import ingest
from tests.core.embed.tiny_model import write_model
from tests.ingest.waiting import work_off


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("models")
    write_model(folder / "a", seed=1, dimension=32)
    write_model(folder / "b", seed=2, dimension=24)
    return folder


@pytest.fixture
def settings(fresh_database: str, tmp_path: Path, models: Path) -> Settings:
    return Settings(
        database_url=SecretStr(fresh_database), home=tmp_path, embed_model=str(models / "a")
    )


@pytest.fixture
def database(settings: Settings) -> Iterator[Database]:
    with open_database(settings) as opened:
        yield opened


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "documents"
    made.mkdir()
    (made / "leave.md").write_text("# Leave\n\nEveryone has 25 days of leave.\n")
    (made / "travel.md").write_text("# Travel\n\nTrains are second class.\n")
    return made


def named(settings: Settings, **changed: object) -> Settings:
    given = {name: getattr(settings, name) for name in settings.model_fields_set}
    return Settings(**{**given, **changed})


def unnamed(settings: Settings) -> Settings:
    """The settings of somebody who never set RAGKIT_EMBED_MODEL."""
    return Settings(database_url=settings.database_url, home=settings.home)


def move(settings: Settings, database: Database, model: Path) -> None:
    embedders, store = Embedders(settings), database.store("default")
    embedder = embedders.made(str(model), None)
    made = build(store, "default", embedder, source=str(model), first=None)
    switch(store, "default", made.space, embedder)


def test_after_a_move_nothing_is_made_anew_and_new_files_take_the_new_model(
    settings: Settings, database: Database, models: Path, folder: Path
) -> None:
    assert ingest([folder], settings=settings).added == 2
    store = database.store("default")
    (kept,) = store.spaces.of("default")
    assert (kept.source, kept.first) == (str(models / "a"), None)
    move(settings, database, models / "b")
    report = ingest([folder], settings=unnamed(settings))
    assert (report.unchanged, report.embedded) == (2, 0)
    (folder / "more.md").write_text("# More\n\nThis came later.\n")
    (folder / "leave.md").write_text("# Leave\n\nEveryone has 28 days of leave.\n")
    report = ingest([folder], settings=unnamed(settings))
    assert (report.added, report.updated, report.unchanged) == (1, 1, 1)
    active = store.spaces.active("default")
    assert active is not None
    assert active.space.model == "b"
    assert store.spaces.size("default", active.id)[0] == 3
    roll_back(store, "default", Embedders(settings))
    report = ingest([folder], settings=settings)
    assert (report.unchanged, report.embedded) == (3, 0)


def test_another_model_named_on_purpose_is_refused_before_anything_is_read(
    settings: Settings, database: Database, models: Path, folder: Path
) -> None:
    ingest([folder], settings=settings)
    with pytest.raises(OtherModelError, match=r"is embedded with a, and RAGKIT_EMBED_MODEL is b"):
        ingest([folder], settings=named(settings, embed_model=str(models / "b")))
    with pytest.raises(OtherModelError, match=r"has 32 dimensions of a, and RAGKIT_EMBED_DIMEN"):
        ingest([folder], settings=named(settings, embed_dimension=8))
    assert ingest([folder], settings=settings).unchanged == 2


def test_an_ingestion_that_a_move_overtakes_ends_with_one_line_and_goes_on_when_run_again(
    settings: Settings,
    database: Database,
    models: Path,
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ingest([folder], settings=settings)
    (folder / "leave.md").write_text("# Leave\n\nEveryone has 28 days of leave.\n")

    def overtaken(*of: Any, **options: Any) -> Any:
        steps = steps_of(*of, **options)
        move(settings, database, models / "b")
        return steps

    with monkeypatch.context() as patched:
        patched.setattr("ragkit_ingest.run.run.steps_of", overtaken)
        with pytest.raises(OtherModelError, match=r"moved to another .* run the same command"):
            ingest([folder], settings=unnamed(settings))
    report = ingest([folder], settings=unnamed(settings))
    assert (report.updated, report.unchanged) == (1, 1)


def test_words_from_before_are_indexed_anew_and_nothing_else_is_made_again(
    settings: Settings, database: Database, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "颱風.md").write_text("# 颱風\n\n颱風後圖書館不開門。\n")
    with monkeypatch.context() as patched:
        patched.setattr("ragkit.store.open.analyser_name", lambda *_: FIRST_ANALYSER)
        patched.setattr("ragkit_ingest.run.recipe.newest", lambda name: name)
        assert ingest([folder], settings=settings).added == 3
    store = database.store("default")
    assert store.analyser("default") == FIRST_ANALYSER
    with KnowledgeBase.open(settings) as kb:
        assert not kb.search("台风 图书馆", mode="lexical")
    assert ingest([folder], settings=settings).unchanged == 3
    assert store.analyser("default") == ANALYSER
    with KnowledgeBase.open(settings) as kb:
        assert [hit.title for hit in kb.search("台风 图书馆", mode="lexical")] == ["颱風"]


def test_a_collection_from_before_learns_what_its_model_is_loaded_by(
    settings: Settings, database: Database, models: Path, folder: Path
) -> None:
    ingest([folder], settings=settings)
    with database.pool.connection() as conn:
        conn.execute("UPDATE collection_space SET source = ''")
    assert ingest([folder], settings=settings).unchanged == 2
    (folder / "more.md").write_text("# More\n\nThis came later.\n")
    assert ingest([folder], settings=settings).added == 1
    (kept,) = database.store("default").spaces.of("default")
    assert (kept.source, kept.state) == (str(models / "a"), "active")


def test_the_dimension_is_part_of_the_fingerprint(settings: Settings, models: Path) -> None:
    options = IngestOptions()
    whole = fingerprint(settings, options)
    assert fingerprint(named(settings, embed_dimension=8), options) != whole
    assert fingerprint(named(settings, embed_model=str(models / "b")), options) != whole


def test_fewer_dimensions_are_stored_when_set(
    settings: Settings, database: Database, folder: Path
) -> None:
    cut = named(settings, embed_dimension=8)
    assert ingest([folder], settings=cut).added == 2
    space = database.store("default").active_space("default")
    assert space is not None
    assert space.dimension == 8
    assert ingest([folder], settings=cut).unchanged == 2
    assert ingest([folder], settings=settings).unchanged == 2  # without the setting too


def send(database: Database) -> int:
    """Upload a text, and return its job's number."""
    sources = Sources(database.pool, "default")
    upload = Upload("a.txt", io.BytesIO(b"New text."))
    (number,) = sources.keep("default", [upload], principal="p")
    return number


def test_an_upload_is_embedded_with_its_collections_model_even_if_that_changes_meanwhile(
    settings: Settings,
    database: Database,
    models: Path,
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ingest([folder], settings=settings)
    embedders = Embedders(settings)
    moves = iter([models / "b"])

    def overtaken(*of: Any, **options: Any) -> Any:
        steps = steps_of(*of, **options)
        for model in moves:  # between the look at the model and the writing
            move(settings, database, model)
        return steps

    monkeypatch.setattr("ragkit_ingest.worker.shift.steps_of", overtaken)
    jobs = UploadJobs(database.pool, "default")
    number = send(database)
    assert work_off(database, embedders)[0].added == 0
    assert (jobs.get(number).state, jobs.get(number).attempts) == ("queued", 0)
    assert work_off(database, embedders)[0].added == 1
    send(database)
    assert work_off(database, embedders)[0].unchanged == 1
    store = database.store("default")
    active = store.spaces.active("default")
    assert active is not None
    assert active.space.model == "b"
    assert store.spaces.gaps("default", active.id).missing() == 0


def test_an_upload_into_a_collection_whose_model_is_gone_says_so(
    settings: Settings, database: Database, folder: Path, tmp_path: Path
) -> None:
    gone = write_model(tmp_path / "gone", seed=5)
    ingest([folder], settings=named(settings, embed_model=str(gone)))
    gone.rename(tmp_path / "away")
    number = send(database)
    (report,) = work_off(database, Embedders(settings))
    assert report.failed == 1
    job = UploadJobs(database.pool, "default").get(number)
    assert (job.state, job.stage) == ("failed", "embed")
    assert "is embedded with gone, which is not" in job.reason
