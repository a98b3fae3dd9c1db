"""`ragkit index recall` and `ragkit index`: measured on a real index, and kept."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner

from ragkit.cli.main import app
from ragkit.errors import NotFoundError, UsageError
from ragkit.filters.tree import parse
from ragkit.store import vectors
from ragkit.store.postgres import PostgresStore
from ragkit.store.session import open_session
from ragkit.store.vectors import Layout
from ragkit.store.vectors.trial import Effort, Trial
from ragkit.types import EmbeddingSpace
from ragkit.upkeep.recall import chosen, measure_recall, read_questions, set_effort
from tests.core.store.vectors.vector_data import Pool, clustered, document, pool_of
from tests.databases import Databases

SPACE = EmbeddingSpace("model", "1", 64)
ROWS = 4_000


@pytest.fixture(scope="module")
def pool(databases: Databases) -> Iterator[Pool]:
    with pool_of(databases) as opened:
        store = PostgresStore(opened, layout=Layout(index="hnsw"))
        for name in ("large", "empty"):
            store.create_collection(name)
        rows = clustered(ROWS, SPACE.dimension)
        entries = [
            (document(f"u{i}", 100, half="ab"[i % 2]), rows[i * 100 : (i + 1) * 100])
            for i in range(ROWS // 100)
        ]
        store.put_documents("large", entries, SPACE)
        store.finish_load("large", SPACE)
        yield opened


@pytest.fixture
def restored(pool: Pool) -> Iterator[Pool]:
    """The same; whatever a test makes of the index, the next one finds it as it was."""
    yield pool
    with pool.connection() as conn:
        vectors.build_index(conn, SPACE, layout=Layout(index="hnsw"))


def test_efforts_are_compared_with_exact_search_on_stored_vectors(pool: Pool) -> None:
    store = PostgresStore(pool)
    seen: list[tuple[int, int]] = []
    tried = measure_recall(
        store, "large", sampled=20, on_progress=lambda done, total: seen.append((done, total))
    )
    assert (tried.index, tried.indexed, tried.queries, tried.k) == ("hnsw", ROWS, 20, 10)
    assert [one.effort for one in tried.efforts] == [20, 40, 80, 100, 120, 200, 400, 700, 1000]
    assert tried.now == 100
    recalls = [one.recall for one in tried.efforts]
    assert recalls[-1] >= 0.99
    assert recalls[0] <= recalls[-1]
    assert all(0 < one.p50_ms <= one.p95_ms for one in tried.efforts)
    assert seen[-1] == (200, 200)
    again = measure_recall(store, "large", sampled=20)
    assert [one.recall for one in again.efforts] == recalls  # the same vectors are drawn


def test_the_least_effort_that_reaches_a_target_is_set_and_searched_by(pool: Pool) -> None:
    store = PostgresStore(pool)
    least = chosen(measure_recall(store, "large", sampled=20), 0.9)
    assert least is not None
    set_effort(store, "large", least.effort)
    with open_session(pool, "default", snapshot=True) as session:
        table = vectors.find_table(session.cursor, SPACE)
    assert table is not None
    assert table.effort == least.effort
    store.set_effort(SPACE, None)


def test_a_filter_is_measured_as_it_is_searched(pool: Pool) -> None:
    store = PostgresStore(pool)
    where = parse({"eq": {"half": "a"}})
    assert measure_recall(store, "large", sampled=5, where=where).queries == 5
    with pytest.raises(NotFoundError, match="leaves no passage"):
        measure_recall(store, "large", where=parse({"eq": {"half": "c"}}))


def test_what_cannot_be_measured_is_refused(pool: Pool) -> None:
    store = PostgresStore(pool)
    with pytest.raises(NotFoundError, match="Collection 'empty' has no documents"):
        measure_recall(store, "empty")
    with pytest.raises(UsageError, match="k is 0"):
        measure_recall(store, "large", k=0)


def test_a_target_out_of_reach_says_what_is_in_reach() -> None:
    tried = Trial("hnsw", 9, 1, 10, 40, 1.0, (Effort(40, 0.7, 1, 1, 1), Effort(80, 0.9, 1, 1, 1)))
    assert chosen(tried, 0.8) == tried.efforts[1]
    with pytest.raises(UsageError, match=r"no effort reaches recall 0\.95: the most is 0\.900, at"):
        chosen(tried, 0.95)
    assert chosen(Trial("none", 0, 1, 10, 40, 1.0), 0.95) is None


def test_questions_are_read_as_lines_or_json(tmp_path: Path) -> None:
    file = tmp_path / "q"
    file.write_text('What is lift?\n\n{"question": "机翼?", "answers": []}\n', encoding="utf-8")
    assert read_questions(file) == ["What is lift?", "机翼?"]
    for text, message in (("\n", "no question"), ('{"q": 1}', '"question" must'), ("{", "JSON")):
        file.write_text(text)
        with pytest.raises(UsageError, match=message):
            read_questions(file)
    with pytest.raises(NotFoundError, match="cannot be read"):
        read_questions(tmp_path / "none")


def test_the_commands_show_set_and_rebuild(restored: Pool, monkeypatch: pytest.MonkeyPatch) -> None:
    assert isinstance(restored.conninfo, str)
    monkeypatch.setenv("RAGKIT_DATABASE_URL", restored.conninfo)
    monkeypatch.setenv("RAGKIT_COLLECTION", "large")
    run = CliRunner().invoke
    shown = json.loads(run(app, ["index", "show", "--json"]).stdout)
    assert (shown["index"], shown["vectors"], shown["indexed"]) == ("hnsw", ROWS, ROWS)
    arguments = ["recall", "--sample", "10", "--target", "0.9", "--set", "--json"]
    tried = json.loads(run(app, arguments).stdout)
    assert tried["set"] is True
    assert tried["chosen"] == json.loads(run(app, ["index", "show", "--json"]).stdout)["effort"]
    rebuilt = run(app, ["index", "build", "--kind", "ivfflat", "--json"])
    assert json.loads(rebuilt.stdout)["index"] == "ivfflat"
    table = run(app, ["recall", "--sample", "10"]).stdout
    assert "probes" in table
    assert "recall@10" in table
    assert run(app, ["recall", "--set"]).exit_code == 2
    assert run(app, ["index", "build", "--kind", "none"]).exit_code == 0
    said = run(app, [*arguments[:-1]]).stdout
    assert said.endswith("recall is 1. There is nothing to set.\n")
    assert json.loads(run(app, arguments).stdout)["set"] is False


def test_vectors_of_other_tenants_are_not_counted(
    pool: Pool, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = PostgresStore(pool, tenant="other")
    other.create_collection("theirs")
    other.put_document("theirs", document("u", 3), SPACE, clustered(3, SPACE.dimension))
    monkeypatch.setenv("RAGKIT_DATABASE_URL", str(pool.conninfo))
    try:
        for tenant, name, count in (("other", "theirs", 3), ("default", "large", ROWS)):
            monkeypatch.setenv("RAGKIT_TENANT", tenant)
            shown = (
                CliRunner().invoke(app, ["index", "show", "--collection", name, "--json"]).stdout
            )
            assert json.loads(shown)["vectors"] == count
    finally:
        other.delete_collection("theirs")
