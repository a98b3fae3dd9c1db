"""The doctor finds what is wrong in a real database, and names a remedy."""

import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from pydantic import SecretStr

from ragkit import KnowledgeBase, Settings
from ragkit.cli.words import sentence
from ragkit.contracts import Embedder
from ragkit.knowledge import build
from ragkit.stats.cutoff import Cutoff
from ragkit.store.connection.connect import connect
from ragkit.store.open import open_database
from ragkit.store.people.calibration import Calibration, Calibrations
from ragkit.testing.corpus import fill, new_document
from ragkit.upkeep.doctor import Check, examine
from tests.core.embed.tiny_model import write_model


@pytest.fixture
def settings(fresh_database: str, loaded_embedder: Embedder) -> Settings:
    """Settings of a database with one document."""
    settings = Settings(database_url=SecretStr(fresh_database))
    with open_database(settings) as database:
        document = new_document("a.txt", "A wing lifts. A tail steers.")
        fill(database.store("default"), loaded_embedder, [document])
    return settings


def checks(settings: Settings) -> dict[str, Check]:
    return {check.name: check for check in examine(settings)}


def test_nothing_is_wrong_with_what_was_just_written(settings: Settings) -> None:
    assert all(check.ok for check in checks(settings).values())


def test_the_programs_that_read_other_formats_are_named(
    settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    check = checks(settings)["other formats"]
    assert check.ok
    assert check.found == "read by other programs: nothing"
    everything = "LibreOffice (.doc, .ppt), bsdtar (.7z), heif-convert (.heic)"
    assert check.remedy == f"install what you need of these: {everything}"
    for name in ("soffice", "bsdtar", "heif-convert"):
        program = tmp_path / name
        program.write_text("#!/bin/sh\n")
        program.chmod(0o755)
    check = checks(settings)["other formats"]
    assert (check.found, check.remedy) == (f"read by other programs: {everything}", "")


@pytest.mark.parametrize(
    ("damage", "name", "found"),
    [
        ("DELETE FROM vectors_1", "orphans", "1 chunks without a vector"),
        ("DELETE FROM lexical_segment", "orphans", "1 collections whose word index misses chunks"),
        ("UPDATE chunk SET end_char = 999", "orphans", "1 chunks outside their text"),
        ("DELETE FROM chunk", "orphans", "1 documents without chunks"),
        (
            "UPDATE chunk SET tokens = 600",
            "truncated chunks",
            "1 in collection 'default' longer than the 508 tokens",
        ),
        (
            "UPDATE pg_index SET indisvalid = false WHERE indexrelid = 'chunk_pkey'::regclass",
            "indexes",
            "index chunk_pkey is incomplete",
        ),
    ],
)
def test_damage_is_found(settings: Settings, damage: str, name: str, found: str) -> None:
    assert settings.database_url is not None
    with connect(settings.database_url.get_secret_value()) as conn:
        conn.execute(damage.encode())
    check = checks(settings)[name]
    assert not check.ok
    assert found in check.found
    assert check.remedy


@pytest.mark.parametrize("name", ["wide", "宽"])
def test_each_collections_chunks_are_compared_with_its_own_model(
    settings: Settings, tmp_path: Path, name: str
) -> None:
    model = write_model(tmp_path / "wide", seed=1, max_tokens=400)
    embedder = build.embedder(settings.model_copy(update={"embed_model": str(model)}))
    embedder.load()
    assert embedder.max_tokens > 300
    document = new_document("b.txt", "A wing lifts.")
    long = replace(document, chunks=(replace(document.chunks[0], tokens=300),))
    with open_database(settings) as database:
        store = database.store("default")
        fill(store, embedder, [long], collection=name)
        store.spaces.adopt(name, embedder.space, source=str(model), first=None)
    check = checks(settings)["truncated chunks"]
    assert (check.ok, check.found) == (True, "none")
    shutil.rmtree(model)
    check = checks(settings)["truncated chunks"]
    unchecked = f"none; not checked, as the model cannot be loaded here: {name!r}"
    assert (check.ok, check.found) == (True, unchecked)


def test_a_cut_off_of_another_model_is_named(settings: Settings) -> None:
    with KnowledgeBase.open(settings) as kb:
        assert kb.database is not None
        kept = Calibrations(kb.database.pool, settings.tenant)
        cutoff = Cutoff(bias=0.0, weights=(1.0,) * 3, means=(0.5,) * 3, threshold=0.5)
        kb.embedder.load()
        for space, ok in (
            (kb.embedder.space, True),
            (replace(kb.embedder.space, model="x"), False),
        ):
            kept.reset("default")
            kept.save("default", Calibration(space, "", "hybrid", cutoff, "hash", 20, 20, 1, 0.9))
            check = checks(settings)["calibration"]
            assert check.ok == ok
            assert ("not used: hybrid" in check.found) == (not ok)


def test_a_database_that_is_down_does_not_hide_the_other_checks() -> None:
    down = Settings(database_url=SecretStr("postgresql://127.0.0.1:9/x"))
    found = checks(down)
    assert not found["database"].ok
    assert found["embedding model"].ok
    assert found["language model"].ok


def test_a_reranker_that_cannot_be_had_is_named(settings: Settings, tmp_path: Path) -> None:
    wanted = settings.model_copy(update={"reranker": str(tmp_path / "nowhere")})
    check = checks(wanted)["reranker"]
    assert not check.ok
    assert "nowhere" in check.found
    assert check.remedy == "see RAGKIT_RERANKER"
    assert "reranker" not in checks(settings)
    assert checks(settings.model_copy(update={"reranker": "cosine"}))["reranker"].ok


def test_an_entailment_model_that_cannot_be_had_is_named(settings: Settings) -> None:
    check = checks(settings.model_copy(update={"nli_model": "nobody/nothing"}))["entailment model"]
    assert not check.ok
    assert "`hf download nobody/nothing`" in check.found
    assert check.remedy == "see RAGKIT_NLI_MODEL"
    assert "entailment model" not in checks(settings)


def test_documents_that_their_model_does_not_read_are_a_warning(settings: Settings) -> None:
    check = checks(settings)["documents' languages"]
    assert (check.ok, check.warning, check.remedy) == (True, False, "")
    minilm = build.embedder(settings.model_copy(update={"embed_model": "minilm"}))
    minilm.load()
    chinese = [
        replace(new_document(f"{n}.md", f"第{n}条：机房温度应保持在二十二度。"), language="zh")
        for n in range(3)
    ]
    with open_database(settings) as database:
        fill(database.store("default"), minilm, chinese, collection="manuals")
    check = checks(settings)["documents' languages"]
    assert (check.ok, check.warning) == (True, True)
    assert check.found == (
        "in collection 'manuals', 3 documents in Chinese are found by words only:"
        " the embedding model all-MiniLM-L6-v2 does not read Chinese"
    )
    assert "`ragkit index reembed --to multilingual-e5-small --collection manuals`" in check.remedy


@pytest.mark.parametrize(
    ("locale", "comma", "dimensions"), [("C", ", ", " dimensions"), ("zh_CN.UTF-8", "，", " 维")]
)
def test_a_tuned_model_has_its_runs_name_and_a_short_hash(
    settings: Settings,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    locale: str,
    comma: str,
    dimensions: str,
) -> None:
    (tmp_path / "leave").mkdir()
    folder = write_model(tmp_path / "leave" / "model", seed=1)
    tuned = settings.model_copy(update={"embed_model": str(folder), "collection": "tuned"})
    embedder = build.embedder(tuned)
    embedder.load()
    with open_database(settings) as database:
        store = database.store("default")
        fill(store, embedder, [new_document("b.txt", "A wing.")], collection="tuned")
        active = store.spaces.active("tuned")
        assert active is not None
        store.spaces.open("tuned", active.space, source=str(folder), first=None)
    monkeypatch.setenv("LC_ALL", locale)
    for name in ("embedding model", "collection's model"):
        found = sentence(checks(tuned)[name].found)
        assert found.startswith(f"leave ({embedder.space.revision[:7]}){comma}32{dimensions}")


def test_the_languages_that_a_model_reads_are_named(settings: Settings) -> None:
    for name in ("embedding model", "collection's model"):
        found = checks(settings)[name].found
        assert found.startswith("multilingual-e5-small, 384 dimensions")
        assert found.endswith(", in English, Chinese and about a hundred others")
    english = settings.model_copy(update={"embed_model": "minilm"})
    assert checks(english)["embedding model"].found.endswith("tokens of text, in English only")
