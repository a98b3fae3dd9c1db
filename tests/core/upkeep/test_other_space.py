"""Searching a collection with a model that it is not switched to: two real models, the database."""

from pathlib import Path

import pytest
from pydantic import SecretStr

from ragkit.embed.local import LocalEmbedder
from ragkit.errors import NotFoundError, OtherModelError, UsageError
from ragkit.knowledge.base import KnowledgeBase
from ragkit.knowledge.embedders import Embedders
from ragkit.settings.settings import Settings
from ragkit.store.open import open_database
from ragkit.testing.corpus import CORPUS, fill, new_document
from ragkit.upkeep.other_space import open_with_model
from ragkit.upkeep.reembed import build
from tests.core.embed.tiny_model import write_model

QUERY = "days of paid holiday"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_model(tmp_path / "a", seed=1, dimension=32)
    write_model(tmp_path / "b", seed=2, dimension=24)
    return tmp_path


@pytest.fixture
def settings(fresh_database: str, folder: Path) -> Settings:
    settings = Settings(database_url=SecretStr(fresh_database), embed_model=str(folder / "a"))
    with open_database(settings) as database:
        store = database.store(settings.tenant)
        store.create_collection("c")
        a = LocalEmbedder(str(folder / "a"))
        a.load()
        store.spaces.adopt("c", a.space, source=a.model, first=None)
        fill(store, a, CORPUS, "c")
    return settings


def build_second(settings: Settings, folder: Path) -> None:
    with open_database(settings) as database:
        embedder = Embedders(settings).made(str(folder / "b"), None)
        store = database.store(settings.tenant)
        build(store, "c", embedder, source=str(folder / "b"), first=None)


def test_both_legs_search_with_the_other_model_and_the_collection_keeps_its_own(
    settings: Settings, folder: Path
) -> None:
    build_second(settings, folder)
    b = LocalEmbedder(str(folder / "b"))
    b.load()
    with open_with_model(settings, "c", str(folder / "b")) as kb:
        dense = kb.search(QUERY, mode="dense")
        cosines = b.embed_passages([hit.text for hit in dense]) @ b.embed_query(QUERY)
        assert [hit.score for hit in dense] == pytest.approx(cosines, abs=2e-3)
        assert len(dense) == 6
        assert {hit.chunk for hit in kb.search(QUERY)} == {hit.chunk for hit in dense}
        assert not kb.ask("How many days of paid holiday does every employee have?").refused
        assert kb.store.active_space("c") == b.space
    with KnowledgeBase.open(settings, collection="c") as kb:
        space = kb.store.active_space("c")
        assert space is not None
        assert (space.model, space.dimension) == ("a", 32)
        with (
            kb.store.snapshot() as reader,
            pytest.raises(OtherModelError, match=r"embedded with a"),
        ):
            reader.nearest("c", b.space, b.embed_query(QUERY), 3)


def test_vectors_that_are_absent_or_incomplete_are_refused_with_the_command(
    settings: Settings, folder: Path
) -> None:
    model = str(folder / "b")
    with pytest.raises(NotFoundError, match=r"has no vectors of .*reembed --to"):
        open_with_model(settings, "c", model)
    build_second(settings, folder)
    with open_database(settings) as database:
        a = LocalEmbedder(str(folder / "a"))
        a.load()
        fill(database.store(settings.tenant), a, [new_document("late.md", "A late one.")], "c")
    with pytest.raises(UsageError, match=r"^1 passages of collection 'c' have no vector of"):
        open_with_model(settings, "c", model)
