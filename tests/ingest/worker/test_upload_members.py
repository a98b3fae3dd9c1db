"""Uploaded mails and archives: what is in them becomes documents, or is named as left out."""

import io
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from email.message import EmailMessage
from pathlib import Path

import pytest
from pydantic import SecretStr

from ragkit.knowledge.embedders import Embedders
from ragkit.settings.settings import Settings
from ragkit.store.documents.sharing import Change, Shares
from ragkit.store.jobs.upload_bytes import Sources, Upload
from ragkit.store.jobs.uploads import UploadJob, UploadJobs
from ragkit.store.open import Database, open_database
from ragkit_ingest.run.run import ingest
from ragkit_ingest.run.skipped import Skipped
from ragkit_ingest.worker.enqueue import enqueue
from ragkit_ingest.worker.worker import work

pytestmark = pytest.mark.usefixtures("shared_model")


@dataclass
class Site:
    """A collection that files are uploaded to, and a worker that ends when nothing waits."""

    settings: Settings
    database: Database

    def sent(self, name: str, data: bytes, readers: tuple[str, ...] | None = None) -> UploadJob:
        """Upload a file and everything in it, and return its own job."""
        pool = self.database.pool
        sources = Sources(pool, "default", readers)
        (number,) = sources.keep("default", [Upload(name, io.BytesIO(data))], principal="ann")
        work(self.settings, until_empty=True)
        return UploadJobs(pool, "default").get(number)

    def uris(self) -> list[str]:
        return sorted(one.uri for one in self.database.store("default").documents("default"))


@pytest.fixture
def settings(fresh_database: str, tmp_path: Path) -> Settings:
    return Settings(database_url=SecretStr(fresh_database), home=tmp_path / "home")


@pytest.fixture
def site(settings: Settings) -> Iterator[Site]:
    with open_database(settings) as database:
        database.store("default").create_collection("default")
        yield Site(settings, database)


def mail(**attached: bytes) -> bytes:
    """Write a mail; a name's __ stands for a dot."""
    letter = EmailMessage()
    letter["Subject"], letter["From"] = "Offer", "ann@example.com"
    letter.set_content("Two pumps cost 1,840 euros.")
    for name, data in attached.items():
        file = name.replace("__", ".")
        letter.add_attachment(data, maintype="application", subtype="octet-stream", filename=file)
    return bytes(letter)


def archive(**files: bytes) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as packed:
        for name, data in files.items():
            packed.writestr(name.replace("__", "."), data)
    return buffer.getvalue()


def test_what_is_attached_to_a_mail_becomes_documents_or_is_named(site: Site) -> None:
    attached = {
        "terms__md": b"Payment within 30 days.",
        "条款__txt": "三十天内付款。".encode(),
        "plan__dwg": b"AC1032",
        "old__zip": archive(deep__md=b"# Deep\n\nA wing lifts."),
    }
    job = site.sent("offer.eml", mail(**attached))
    inside = "upload:offer.eml!/"
    assert site.uris() == [
        "upload:offer.eml",
        *sorted(inside + name for name in ("old.zip!/deep.md", "terms.md", "条款.txt")),
    ]
    assert (job.state, job.stage) == ("done", "")
    assert job.document is not None
    assert job.reason == (
        "3 files in it, each with a job of its own: terms.md, 条款.txt, old.zip!/deep.md;"
        " left out: plan.dwg: a format that ragkit does not read (.dwg)"
    )
    jobs = UploadJobs(site.database.pool, "default").page(limit=10)
    assert {one.name: one.state for one in jobs} == dict.fromkeys(
        ("offer.eml", "terms.md", "条款.txt", "deep.md"), "done"
    )


def test_what_is_attached_is_kept_for_those_who_may_read_the_mail(site: Site) -> None:
    store = site.database.store("default")
    Shares(site.database.pool, "default").collection("default", Change(add=("user:ann",)))
    job = site.sent("offer.eml", mail(terms__md=b"Payment within 30 days."), ("user:ann",))
    assert job.state == "done"
    owners = {one.uri: one.id for one in store.documents("default")}
    assert owners.keys() == {"upload:offer.eml", "upload:offer.eml!/terms.md"}
    source = Sources(site.database.pool, "default", ("user:ann",))
    terms = source.of_document(owners["upload:offer.eml!/terms.md"])
    assert b"".join(source.parts(terms)) == b"Payment within 30 days."


def test_an_archive_is_taken_apart(site: Site) -> None:
    job = site.sent(
        "papers.zip",
        archive(
            **{"a/lease__md": b"900 euros.", "x__dwg": b"AC1032", "README": b"Keys hang left."}
        ),
    )
    assert site.uris() == ["upload:papers.zip!/README", "upload:papers.zip!/a/lease.md"]
    assert (job.state, job.document) == ("done", None)
    assert job.reason == (
        "2 files in it, each with a job of its own: a/lease.md, README;"
        " left out: x.dwg: a format that ragkit does not read (.dwg)"
    )
    again = site.sent("papers.zip", archive(**{"a/lease__md": b"950 euros."}))
    assert again.state == "done"
    documents = site.database.store("default").documents("default")
    versions = {document.uri.rpartition("/")[2]: document.version for document in documents}
    assert versions == {"lease.md": 2, "README": 1}  # a file that is no longer in it stays


@pytest.mark.parametrize(
    ("name", "data", "reason"),
    [
        ("papers.zip", b"PK no", "zip"),
        ("papers.zip", archive(x__dwg=b"AC1032"), "no file in it can be read; left out: x.dwg"),
        ("papers.zip", archive(), "no file in it can be read"),
        ("offer.msg", b"no", ""),
    ],
)
def test_what_cannot_be_taken_apart_fails(site: Site, name: str, data: bytes, reason: str) -> None:
    job = site.sent(name, data)
    assert (job.state, job.stage) == ("failed", "parse")
    assert reason in job.reason


def test_an_archive_in_an_archive_is_named(site: Site) -> None:
    inner = archive(deep__md=b"# Deep")
    job = site.sent("a.zip", archive(b__md=b"A wing lifts.", c__zip=inner))
    assert site.uris() == ["upload:a.zip!/b.md"]
    assert "left out: c.zip (an archive in an archive" in job.reason


@pytest.mark.parametrize("name", ["offer.eml", "报价.eml"])
def test_every_way_in_takes_attachments_and_names_what_is_left_out(
    site: Site, tmp_path: Path, name: str
) -> None:
    place = tmp_path / name
    place.write_bytes(mail(terms__md=b"Payment within 30 days.", plan__dwg=b"AC1032"))
    report = ingest(place, settings=site.settings)
    assert (report.added, report.skipped) == (2, 1)
    unread = "a format that ragkit does not read (.dwg)"
    assert report.skipped_files == (Skipped(f"{place}!/plan.dwg", unread),)
    assert report.as_json()["skipped_files"] == [{"uri": f"{place}!/plan.dwg", "reason": unread}]
    other = tmp_path / f"other {name}"
    other.write_bytes(mail(terms__md=b"Payment within 45 days.", plan__dwg=b"AC1032"))
    embedders = Embedders(site.settings)
    assert enqueue(other, embedders, site.database, collection="default").queued == 1
    (done,) = work(site.settings, until_empty=True).reports
    assert (done.added, done.skipped_files) == (2, (Skipped(f"{other}!/plan.dwg", unread),))


def test_no_upload_is_of_a_format_that_nothing_reads(site: Site) -> None:
    job = site.sent("figures.dwg", b"AC1032")
    assert job.state == "failed"
    assert "'figures.dwg' cannot be read: .dwg is none of the formats" in job.reason
    listed = job.reason.rpartition("one of ")[2].split(", ")
    assert {".pdf", ".zip", ".eml", ".docx"} <= set(listed)
    assert not {".dwg", ".rar", ".numbers", ".gz", ".wps"} & set(listed)
