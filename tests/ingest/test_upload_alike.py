"""Uploads that are nearly alike to others: flagged or left out, as in an ingestion of files."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from pydantic import SecretStr

from ragkit.settings import Settings
from ragkit.store.open import open_database
from ragkit_ingest.run import ingest
from tests.ingest.test_upload_members import Site

pytestmark = pytest.mark.usefixtures("shared_model")

ENGLISH = " ".join(
    f"On day {n} the pump number {n * 7} is looked at by the crew." for n in range(40)
)
CHINESE = "".join(f"第{n}天由班组检查第{n * 7}号水泵并记录压力和温度。" for n in range(40))


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
