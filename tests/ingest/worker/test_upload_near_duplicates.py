"""Uploads that are nearly alike to others: flagged or left out, as in an ingestion of files."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from pydantic import SecretStr

from ragkit.knowledge.embedders import Embedders
from ragkit.settings.settings import Settings
from ragkit.store.open import open_database
from ragkit_ingest.run.run import ingest
from ragkit_ingest.worker.enqueue import enqueue
from ragkit_ingest.worker.worker import work
from tests.ingest.worker.test_upload_members import Site

pytestmark = pytest.mark.usefixtures("shared_model")

ENGLISH = " ".join(
    f"On day {n} the pump number {n * 7} is looked at by the crew." for n in range(20)
)
CHINESE = "".join(f"第{n}天由班组检查第{n * 7}号水泵并记录压力和温度。" for n in range(20))


@pytest.fixture(params=["flag", "drop"])
def site(fresh_database: str, tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Site]:
    settings = Settings(
        database_url=SecretStr(fresh_database),
        home=tmp_path / "home",
        near_duplicates=request.param,
    )
    with open_database(settings) as database:
        database.store("default").create_collection("default")
        yield Site(settings, database)


@pytest.mark.parametrize("text", [ENGLISH, CHINESE])
def test_a_near_duplicate_of_an_upload_or_a_file_is_told(
    site: Site, tmp_path: Path, text: str
) -> None:
    (tmp_path / "plan.md").write_text(text, "utf-8")
    ingest(tmp_path / "plan.md", settings=site.settings)
    store = site.database.store("default")
    job = site.sent("copy.txt", f"{text} Amen.".encode())
    assert job.state == "done"
    assert job.document is not None
    if site.settings.near_duplicates == "flag":
        assert store.metadata(job.document)["near_duplicate_of"] == str(tmp_path / "plan.md")
        assert site.uris() == [str(tmp_path / "plan.md"), "upload:copy.txt"]
    else:
        assert store.document(job.document).uri == str(tmp_path / "plan.md")
        assert job.reason.startswith(f"left out, as nearly the same as {tmp_path / 'plan.md'} (")
        assert site.uris() == [str(tmp_path / "plan.md")]


def test_an_upload_is_compared_with_uploads_and_not_with_its_own_earlier_version(
    site: Site,
) -> None:
    is_dropped = site.settings.near_duplicates == "drop"
    site.sent("one.txt", ENGLISH.encode())
    assert site.sent("one.txt", f"{ENGLISH} Amen.".encode()).reason == ""
    assert site.database.store("default").document(1).version == 2
    assert bool(site.sent("two.txt", f"{ENGLISH} So.".encode()).reason) == is_dropped
    assert site.uris() == (
        ["upload:one.txt"] if is_dropped else ["upload:one.txt", "upload:two.txt"]
    )


def test_files_from_a_queue_are_compared_as_well(site: Site, tmp_path: Path) -> None:
    for name, text in (("plan.md", ENGLISH), ("copy.md", f"{ENGLISH} Amen.")):
        (tmp_path / name).write_text(text, "utf-8")
        enqueue(tmp_path / name, Embedders(site.settings), site.database, collection="default")
        work(site.settings, until_empty=True)
    store = site.database.store("default")
    plan, copy = (str(tmp_path / name) for name in ("plan.md", "copy.md"))
    if site.settings.near_duplicates == "flag":
        (number,) = [one.id for one in store.documents("default") if one.uri == copy]
        assert store.metadata(number)["near_duplicate_of"] == plan
    else:
        assert site.uris() == [plan]
        assert [[one.uri for one in of] for of in store.copies("default").values()] == [[copy]]


def test_a_file_that_is_nearly_an_upload_is_flagged_and_never_dropped(
    site: Site, tmp_path: Path
) -> None:
    site.sent("one.txt", ENGLISH.encode())
    (tmp_path / "plan.md").write_text(f"{ENGLISH} Amen.", "utf-8")
    assert ingest(tmp_path, settings=site.settings).added == 1
    store = site.database.store("default")
    (plan,) = [one for one in store.documents("default") if one.uri != "upload:one.txt"]
    flag = store.metadata(plan.id).get("near_duplicate_of")
    assert flag == ("upload:one.txt" if site.settings.near_duplicates == "flag" else None)


def test_a_new_version_is_stored_even_if_it_is_alike_to_another(site: Site) -> None:
    site.sent("one.txt", ENGLISH.encode())
    site.sent("two.txt", CHINESE.encode())
    assert site.sent("two.txt", f"{ENGLISH} Amen.".encode()).reason == ""
    store = site.database.store("default")
    (two,) = [one for one in store.documents("default") if one.uri == "upload:two.txt"]
    assert (two.version, store.text(two.id)[:6]) == (2, "On day")


def test_what_others_may_not_read_is_not_told_of(site: Site) -> None:
    site.sent("one.txt", ENGLISH.encode())
    with site.database.pool.connection() as conn:
        conn.execute("UPDATE document SET readers = '{user:bob}'")
    job = site.sent("two.txt", f"{ENGLISH} Amen.".encode())
    assert job.reason == ""
    assert job.document is not None
    assert "near_duplicate_of" not in site.database.store("default").metadata(job.document)
