"""Which model a collection is searched and added to with, and what is refused."""

import threading
from datetime import UTC, datetime
from pathlib import Path

import pytest

from ragkit.contracts import Embedder
from ragkit.embed.local import LocalEmbedder
from ragkit.errors import ModelError, OtherModelError
from ragkit.knowledge.embedders import MAX_KEPT, Embedders, source_of
from ragkit.settings.settings import Settings
from ragkit.store.vectors.active_space import KeptSpace
from tests.core.embed.tiny_model import write_model


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("models")
    write_model(folder / "a", seed=1)
    write_model(folder / "b", seed=2)
    return folder


def kept(folder: Path, *, dimension: int | None = None, source: str | None = None) -> KeptSpace:
    space = LocalEmbedder(str(folder), dimension=dimension).space
    source = str(folder) if source is None else source
    now = datetime.now(UTC)
    return KeptSpace(1, space, source, dimension, "active", now, now, None)


def test_a_new_collection_takes_the_settings_model(models: Path) -> None:
    embedders = Embedders(Settings(embed_model=str(models / "a")))
    assert embedders.of(None, "c") is embedders.default
    assert embedders.to_ingest(None, "c") is embedders.default


def test_a_collection_keeps_its_own_model(models: Path) -> None:
    embedders = Embedders(Settings(embed_model=str(models / "a")))
    of_b = kept(models / "b")
    found = embedders.of(of_b, "c")
    assert found.space == of_b.space
    assert embedders.of(of_b, "other") is found  # loaded once
    assert embedders.of(kept(models / "a"), "c") is embedders.default


def test_a_space_stored_without_a_word_on_its_source_is_the_settings(models: Path) -> None:
    embedders = Embedders(Settings(embed_model=str(models / "a")))
    assert embedders.of(kept(models / "a", source=""), "c") is embedders.default
    cut = kept(models / "a", dimension=8, source="")
    assert embedders.of(cut, "c").space == cut.space


def test_a_model_that_moved_is_found_by_the_settings(models: Path, tmp_path: Path) -> None:
    moved = tmp_path / "a"
    moved.symlink_to(models / "a", target_is_directory=True)
    gone = kept(models / "a", source=str(tmp_path / "gone" / "a"))
    assert Embedders(Settings(embed_model=str(moved))).of(gone, "c").space == gone.space


def test_a_model_that_is_gone_is_named_with_the_remedies(models: Path, tmp_path: Path) -> None:
    gone = kept(models / "a", source=str(tmp_path / "gone" / "a"))
    with pytest.raises(ModelError) as caught:
        Embedders(Settings(embed_model=str(models / "b"))).of(gone, "c")
    assert str(caught.value) == (
        f"collection 'c' is embedded with a, which is not found as {tmp_path}/gone/a: put it back"
        " there, set RAGKIT_EMBED_MODEL to where it is, or move the collection with"
        " `ragkit index reembed --to MODEL`"
    )


@pytest.mark.parametrize(
    ("changed", "differs"),
    [
        ({"seed": 9}, "revision '"),
        ({"seed": 1, "prefix": "query: "}, "query prefix 'query: '"),
    ],
)
def test_a_model_that_is_another_by_now_is_refused(
    models: Path, tmp_path: Path, changed: dict[str, object], differs: str
) -> None:
    folder = write_model(tmp_path / "a", **changed)  # type: ignore[arg-type]
    of_a = kept(models / "a", source=str(folder))
    with pytest.raises(OtherModelError) as caught:
        Embedders(Settings(embed_model=str(folder))).of(of_a, "c")
    assert f"but that model is now a ({differs}" in str(caught.value)
    assert "put the old one back, or move the collection with `ragkit index reembed" in str(
        caught.value
    )


def test_other_dimensions_of_the_same_model_are_refused(models: Path) -> None:
    embedders = Embedders(Settings(embed_model=str(models / "a"), embed_dimension=8))
    with pytest.raises(OtherModelError, match="has 32 dimensions of a, and RAGKIT_EMBED_DIMENSION"):
        embedders.of(kept(models / "a"), "c")
    cut = kept(models / "a", dimension=8)
    assert embedders.of(cut, "c") is embedders.default
    assert embedders.of(kept(models / "b"), "c").space.dimension == 32  # the setting is a's
    unset = Embedders(Settings(embed_model=str(models / "a")))
    assert unset.of(cut, "c").space == cut.space


def test_ingestion_is_refused_with_another_model_named_on_purpose(models: Path) -> None:
    of_b = kept(models / "b")
    with pytest.raises(OtherModelError) as caught:
        Embedders(Settings(embed_model=str(models / "a"))).to_ingest(of_b, "c")
    assert str(caught.value) == (
        "collection 'c' is embedded with b, and RAGKIT_EMBED_MODEL is a: unset it, or move the"
        f" collection with `ragkit index reembed --to {models / 'a'}`"
    )
    assert Embedders(Settings()).to_ingest(of_b, "c").space == of_b.space
    same = Embedders(Settings(embed_model=str(models / "b")))
    assert same.to_ingest(of_b, "c") is same.default


def test_few_models_are_kept(models: Path) -> None:
    embedders = Embedders(Settings(embed_model=str(models / "a")))
    spaces = [kept(models / "b", dimension=n) for n in range(4, 4 + MAX_KEPT + 1)]
    first = embedders.of(spaces[0], "c")
    for space in spaces[:-1]:
        embedders.of(space, "c")
    assert embedders.of(spaces[0], "c") is first
    embedders.of(spaces[-1], "c")
    assert embedders.of(spaces[1], "c") is not None
    assert embedders.of(spaces[0], "c") is first


class Slow(Embedders):
    """Finds a model of 8 dimensions only when it is let, and says when it begins."""

    def __init__(self, settings: Settings) -> None:
        super().__init__(settings)
        self.begun, self.let = threading.Semaphore(0), threading.Event()

    def made_for(self, kept: KeptSpace, collection: str) -> Embedder:
        if kept.space.dimension == 8:
            self.begun.release()
            assert self.let.wait(60)
        return super().made_for(kept, collection)


def test_a_model_that_is_being_found_holds_no_other_up(models: Path) -> None:
    embedders = Slow(Settings(embed_model=str(models / "a")))
    slow, quick = kept(models / "b", dimension=8), kept(models / "b", dimension=4)
    found: list[Embedder] = []
    threads = [
        threading.Thread(target=lambda: found.append(embedders.of(slow, "c")), daemon=True)
        for _ in range(2)
    ]
    for thread in threads:
        thread.start()
    assert all(embedders.begun.acquire(timeout=60) for _ in threads)
    other = threading.Thread(target=lambda: embedders.of(quick, "d"), daemon=True)
    other.start()
    other.join(30)
    held_up = other.is_alive()
    embedders.let.set()
    for thread in threads:
        thread.join()
    assert not held_up
    assert found == [embedders.of(slow, "c")] * 2  # both have the one that is kept


def test_a_folder_is_named_by_its_whole_path(models: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(models)
    assert source_of("a") == str(models / "a")
    assert source_of("intfloat/e5-small-v2") == "intfloat/e5-small-v2"
