"""Ingestion on Ray with everything but a cluster: the operators run in this process.

tests/faults/test_ray_cluster.py has a real one.
"""

import pickle
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr
from typer.testing import CliRunner

from ragkit.cli.main import app
from ragkit.errors import DatabaseError, SettingsError, UsageError
from ragkit.settings.settings import Settings
from ragkit.store.connection.connect import connect
from ragkit.store.open import open_database
from ragkit_ingest.executor.ray import cluster, waves
from ragkit_ingest.executor.ray.cluster import Size
from ragkit_ingest.executor.ray.dataset import Plan
from ragkit_ingest.executor.ray.operators import Embed, Parse, Write, without_secrets
from ragkit_ingest.executor.ray.parcels import Outcome, Sent, parcels, table
from ragkit_ingest.run.report import Failure, IngestReport
from ragkit_ingest.run.run import ingest
from ragkit_ingest.run.steps import read
from ragkit_ingest.sources import find

ray = pytest.importorskip("ray", reason="the extra ray is not installed: pip install 'ragkit[ray]'")

pytestmark = pytest.mark.usefixtures("shared_model")  # each operator of a cluster loads its own

SECRET = "correct-horse-battery"
FILES = 20  # two blocks

Results = Callable[[Iterable[Any], Plan, Size], Iterator[Any]]


@pytest.fixture
def settings(fresh_database: str, tmp_path: Path) -> Settings:
    return Settings(database_url=SecretStr(fresh_database), home=tmp_path / "home")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "documents"
    made.mkdir()
    for number in range(FILES):
        (made / f"{number:02}.md").write_text(f"# Wing {number}\n\nIt carries {number * 17} kg.\n")
    return made


@pytest.fixture(autouse=True)
def token(monkeypatch: pytest.MonkeyPatch) -> None:
    """Set what has to be set before Ray is imported, which it is above."""
    monkeypatch.setenv("RAY_AUTH_MODE", "token")


def here(blocks: Iterable[Any], plan: Plan, size: Size) -> Iterator[Any]:
    """Do what the operators do, one block after the other; all but the code passes a pickle."""
    parse = Parse(*passed((plan.options, plan.limits, plan.version)))
    embed = Embed(*passed((plan.recipe, plan.limits)))
    write = Write(*passed((plan.settings, plan.recipe.collection)))
    try:
        for block in blocks:
            yield passed(write(passed(embed(passed(parse(passed(block)))))))
    finally:
        parse.close()
        embed.close()
        write.close()


def passed(value: Any) -> Any:
    return pickle.loads(pickle.dumps(value))  # noqa: S301  our own bytes


@pytest.fixture
def on(monkeypatch: pytest.MonkeyPatch, settings: Settings) -> Callable[..., IngestReport]:
    """Take a folder in on a cluster that gives these results."""

    @contextmanager
    def joined() -> Iterator[Size]:
        yield Size(cpus=2, gpus=0, least_cpus=2)

    def run(folder: Path, results: Results = here) -> IngestReport:
        monkeypatch.setattr(cluster, "joined", joined)
        monkeypatch.setattr(waves, "results", results)
        return ingest([folder], settings=settings, engine="ray")

    return run


def rows(settings: Settings, query: str) -> list[tuple[Any, ...]]:
    assert settings.database_url is not None
    with connect(settings.database_url.get_secret_value()) as conn:
        return conn.execute(query.encode()).fetchall()


CONTENTS = """
    SELECT d.uri, d.content_hash, d.fingerprint, d.title, d.text, c.ordinal, c.start_char,
        c.end_char, c.tokens, c.terms FROM document d JOIN collection l ON l.id = d.collection_id
    JOIN chunk c ON c.document_id = d.id WHERE l.name = '{}' ORDER BY d.uri, c.ordinal
"""


def test_what_is_stored_is_what_a_plain_run_stores(
    on: Callable[..., IngestReport], settings: Settings, folder: Path
) -> None:
    (folder / "broken.pdf").write_bytes(b"%PDF-1.7 and nothing more")
    report = on(folder)
    plain = ingest([folder], settings=settings, collection="plain")
    assert (report.added, report.chunks, report.embedded) == (FILES, FILES, FILES)
    assert rows(settings, CONTENTS.format("default")) == rows(settings, CONTENTS.format("plain"))
    assert report.failures == plain.failures
    assert [failure.stage for failure in report.failures] == ["parse"]
    again = on(folder)
    assert (again.added, again.embedded, again.unchanged) == (0, 0, FILES)
    (folder / "07.md").write_text("# Wing 7\n\nIt was mended.\n")
    changed = on(folder)
    assert (changed.added, changed.updated, changed.unchanged) == (0, 1, FILES - 1)


def test_what_ray_does_again_is_stored_and_counted_once(
    on: Callable[..., IngestReport], settings: Settings, folder: Path
) -> None:
    def forgetful(blocks: Iterable[Any], plan: Plan, size: Size) -> Iterator[Any]:
        """Lose every result and do the same again; then give it twice."""
        kept = list(blocks)
        list(here(kept, plan, size))
        second = list(here(kept, plan, size))
        yield from second
        yield from second

    report = on(folder, forgetful)
    assert (report.added, report.lost, report.failed, report.chunks) == (FILES, 0, 0, FILES)
    assert rows(settings, "SELECT max(version), count(*) FROM document") == [(1, FILES)]
    states = "SELECT DISTINCT state, attempts, figures ->> 'chunks' FROM job"
    assert rows(settings, states) == [("done", 1, "1")]


def test_who_has_lost_the_job_stores_nothing(
    on: Callable[..., IngestReport], settings: Settings, folder: Path
) -> None:
    def late(blocks: Iterable[Any], plan: Plan, size: Size) -> Iterator[Any]:
        kept = list(blocks)
        assert settings.database_url is not None
        with connect(settings.database_url.get_secret_value()) as conn:  # as others take jobs
            conn.execute("UPDATE job SET token = 1 WHERE uri LIKE '%03.md'")
        yield from here(kept, plan, size)

    report = on(folder, late)
    assert (report.added, report.lost) == (FILES - 1, 1)
    assert rows(settings, "SELECT 1 FROM document WHERE uri LIKE '%03.md'") == []


def test_a_thing_that_ends_its_process_is_found_and_set_aside(
    on: Callable[..., IngestReport], settings: Settings, folder: Path
) -> None:
    poison = folder / "11.md"
    sizes: list[int] = []

    def crashing(blocks: Iterable[Any], plan: Plan, size: Size) -> Iterator[Any]:
        kept = list(blocks)
        sizes.append(sum(block.num_rows for block in kept))
        for block in kept:
            some = [one for one in parcels(block) if isinstance(one, Sent)]
            if any(one.task.uri == str(poison) for one in some):
                raise ray.exceptions.WorkerCrashedError
            yield from here([table(some)], plan, size)

    report = on(folder, crashing)
    assert report.added == FILES - 1
    assert report.failures == (
        Failure(
            str(poison),
            "worker",
            "the process that worked on this file ended, on the Ray cluster, several times",
        ),
    )
    # The poison is 11 of 0 to 19: halves of what is left, down to it alone.
    assert sizes == [20, 10, 10, 5, 3, 2, 1, 1, 1, 2, 5]
    assert rows(settings, "SELECT attempts FROM job WHERE state = 'failed'") == [(1,)]


def test_a_wave_that_is_broken_off_goes_on_with_what_is_left(
    on: Callable[..., IngestReport], folder: Path
) -> None:
    sizes: list[int] = []

    def breaking(blocks: Iterable[Any], plan: Plan, size: Size) -> Iterator[Any]:
        kept = list(blocks)
        sizes.append(sum(block.num_rows for block in kept))
        yield from here(kept[:1], plan, size)
        if len(kept) > 1:
            raise ray.exceptions.ActorUnavailableError("its node is gone", None)

    report = on(folder, breaking)
    assert (report.added, report.failed) == (FILES, 0)
    assert sizes == [20, 4]  # the first block has 16


def test_a_fault_of_the_code_is_no_files(
    on: Callable[..., IngestReport], settings: Settings, folder: Path
) -> None:
    def faulty(blocks: Iterable[Any], plan: Plan, size: Size) -> Iterator[Any]:
        if list(blocks):
            raise ray.exceptions.RayTaskError("embed", "a trace", ValueError("no"))
        yield None

    with pytest.raises(ray.exceptions.RayTaskError):
        on(folder, faulty)
    states = "SELECT DISTINCT state, attempts, worker FROM job"
    assert rows(settings, states) == [("queued", 0, None)]


def test_an_error_of_another_machine_is_this_programs(
    on: Callable[..., IngestReport], folder: Path
) -> None:
    def other(blocks: Iterable[Any], plan: Plan, size: Size) -> Iterator[Any]:
        parse = Parse(plan.options, plan.limits, "0.0.0")
        yield from (parse(block) for block in blocks)

    with pytest.raises(
        UsageError, match=r"where this is 0\.0\.0: install the same on every machine"
    ):
        on(folder, other)

    def away(blocks: Iterable[Any], plan: Plan, size: Size) -> Iterator[Any]:
        some = [one for block in blocks for one in parcels(block) if isinstance(one, Sent)]
        for one in some:
            said = "the server is away (on node2)"
            outcome = Outcome(one.place, "stopped", one.task, stage="DatabaseError", reason=said)
            yield table([outcome])

    with pytest.raises(DatabaseError, match=r"^the server is away \(on node2\)$"):
        on(folder, away)


def test_a_suspect_is_done_in_the_program_itself(
    on: Callable[..., IngestReport], settings: Settings, folder: Path
) -> None:
    suspect = str(folder / "05.md")
    (item,) = find([suspect], settings=settings)
    source = read(item, max_bytes=1 << 20)
    with open_database(settings) as database:
        store = database.store("default")
        owner = store.create_collection("default")
        with store.job_ledger.worker(owner.id) as worker:
            worker.enqueue([(suspect, source.content_hash)])
    rows_before = rows(settings, "UPDATE job SET attempts = 2 RETURNING uri")
    assert rows_before == [(suspect,)]
    seen: list[str] = []

    def spying(blocks: Iterable[Any], plan: Plan, size: Size) -> Iterator[Any]:
        kept = list(blocks)
        seen.extend(one.task.uri for block in kept for one in parcels(block))
        yield from here(kept, plan, size)

    report = on(folder, spying)
    assert report.added == FILES
    assert len(seen) == FILES - 1
    assert suspect not in seen


def test_only_what_writes_is_told_the_databases_address(
    on: Callable[..., IngestReport], settings: Settings, folder: Path
) -> None:
    assert settings.database_url is not None
    url = settings.database_url.get_secret_value()
    plans: list[Plan] = []

    def spying(blocks: Iterable[Any], plan: Plan, size: Size) -> Iterator[Any]:
        plans.append(plan)
        return here(blocks, plan, size)

    on(folder, spying)
    (plan,) = plans
    assert url.encode() not in pickle.dumps((plan.recipe, plan.options, plan.limits))
    assert url.encode() in pickle.dumps(plan.settings)
    assert url not in repr(plan)


def test_secrets_stay_here() -> None:
    url = f"postgresql://u:{SECRET}@db:5432/rag"
    settings = Settings(
        database_url=SecretStr(url),
        database_owner_url=SecretStr(url),
        llm_url=f"http://u:{SECRET}@llm:8000/v1",
        llm_model="m",
        llm_api_key=SecretStr(SECRET),
        reranker=f"http://u:{SECRET}@rank:8000/rerank",
        oidc_client_secret=SecretStr(SECRET),
        top_k=7,
    )
    sent = without_secrets(settings)
    assert SECRET.encode() not in pickle.dumps(sent)
    assert sent.top_k == 7
    kept = without_secrets(settings, keep=("database_url",))
    assert kept.database_url is not None
    assert kept.database_url.get_secret_value() == url
    assert kept.database_owner_url is None
    assert SECRET not in repr(kept)


def test_near_duplicates_are_refused(
    on: Callable[..., IngestReport], settings: Settings, folder: Path
) -> None:
    with pytest.raises(SettingsError, match="set near_duplicates of collection 'default' to keep"):
        ingest(
            [folder],
            settings=settings.model_copy(update={"near_duplicates": "flag"}),
            engine="ray",
        )


@pytest.mark.parametrize(
    ("address", "said"),
    [
        ("ray://head:10001", "'ray://head:10001' is a Ray client's"),
        ("head:6379", "set RAGKIT_DATABASE_URL, or unset RAY_ADDRESS to use this machine alone"),
    ],
)
def test_what_cannot_be_is_said_at_once(
    monkeypatch: pytest.MonkeyPatch, address: str, said: str
) -> None:
    monkeypatch.setenv("RAY_ADDRESS", address)
    with pytest.raises(SettingsError, match=said):
        cluster.check(Settings())


def test_rays_own_variable_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RAY_ADDRESS", "head:6379")
    assert cluster.cluster_address() == "head:6379"
    monkeypatch.setenv("RAY_ADDRESS", "local")
    assert cluster.cluster_address() is None


def test_ray_imported_before_it_was_told_to_ask_for_a_token(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("RAY_AUTH_MODE")
    with pytest.raises(UsageError, match="set RAY_AUTH_MODE=token first, or import Ray later"):
        cluster.check(Settings())
    monkeypatch.setenv("RAY_ADDRESS", "127.0.0.1:6379")  # its operator has chosen
    with pytest.raises(SettingsError, match="needs a PostgreSQL server"):
        cluster.check(Settings())


def test_a_cluster_that_does_not_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RAY_ADDRESS", "127.0.0.1:1")
    said = "No Ray cluster answers at 127.0.0.1:1: Connection refused"
    with pytest.raises(UsageError, match=said), cluster.joined():
        pass


def test_without_the_extra(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, fresh_database: str
) -> None:
    monkeypatch.setitem(sys.modules, "ray.data", None)
    monkeypatch.setenv("RAGKIT_DATABASE_URL", fresh_database)
    result = CliRunner().invoke(app, ["ingest", str(tmp_path), "--engine", "ray"])
    assert isinstance(result.exception, UsageError)
    assert str(result.exception) == "--engine ray needs Ray: pip install 'ragkit[ray]'"
    assert result.exception.exit_code == 2
