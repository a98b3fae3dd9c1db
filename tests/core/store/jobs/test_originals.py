"""Original files of documents: uploads and files of folders, and only what they were made of."""

from __future__ import annotations

import hashlib
import io
import os
from pathlib import Path
from typing import Any

import pytest
from psycopg import Connection
from psycopg_pool import ConnectionPool

from ragkit.documents.content_hash import content_hash
from ragkit.errors import NotFoundError
from ragkit.store.documents.history import History
from ragkit.store.documents.sharing import Change, Shares
from ragkit.store.jobs import originals
from ragkit.store.jobs.originals import PDF, Originals
from ragkit.store.jobs.upload_bytes import Sources, Upload
from ragkit.store.postgres import PostgresStore
from ragkit.testing import FakeEmbedder
from ragkit.types import Chunk, Document, NewDocument, Page, Span
from tests.core.store.uploads import source_of, take_upload, upload_worker

Pool = ConnectionPool[Connection[Any]]
DATA = b"%PDF-1.4 Leave is 28 days."
OTHER = b"%PDF-1.4 Leave is 30 days."


def made(uri: str, data: bytes = DATA, text: str = "Leave is 28 days.", **more: Any) -> NewDocument:
    chunks = (Chunk(0, 0, len(text), 5, 1),)
    fields = {"media_type": PDF, "pages": (Page(0, 1), Page(6, 3)), **more}
    hashed = content_hash(data, more.get("title", ""), more.get("metadata", {}))
    return NewDocument(uri, hashed, "f", text, chunks, **fields)


def put(pool: Pool, document: NewDocument, collection: str = "c", **options: Any) -> Document:
    store = PostgresStore(pool, **{"keep_versions": options.pop("keep_versions", 0)})
    if "job" not in options:
        store.create_collection(collection)
    embedder = FakeEmbedder()
    embedder.load()
    vectors = embedder.embed_passages([document.text])
    return store.put_document(collection, document, embedder.space, vectors, **options)


def uploaded(pool: Pool, data: bytes = DATA, **options: Any) -> Document:
    """Upload a file and take it in."""
    PostgresStore(pool).create_collection("c")
    Sources(pool, "default").keep("c", [Upload("a.pdf", io.BytesIO(data))], principal="ada")
    with upload_worker(pool) as worker:
        job = take_upload(worker)
        return put(pool, made(job.uri, data), job=job, source=source_of(job), **options)


def read(pool: Pool, document: int, **options: Any) -> bytes:
    of = Originals(pool, "default", **options)
    return of.read(of.find(document))


def reason(pool: Pool, document: int, **options: Any) -> str:
    """Return why there is no original."""
    with pytest.raises(NotFoundError) as refused:
        read(pool, document, **options)
    message = str(refused.value)
    assert message.endswith(f" Its text is at /v1/documents/{document}/text.")
    return message.partition(": ")[2].partition(". ")[0]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    file = tmp_path / "leave.pdf"
    file.write_bytes(DATA)
    return file


def test_an_upload_is_read_from_the_database(pool: Pool) -> None:
    assert read(pool, uploaded(pool).id) == DATA


def test_a_file_of_a_folder_is_read_from_its_place(pool: Pool, path: Path) -> None:
    stored = put(pool, made(str(path)))
    assert read(pool, stored.id) == DATA
    found = Originals(pool, "default").find(stored.id)
    assert (found.version, found.span(1), found.span(3)) == (1, Span(0, 6), Span(6, 17))
    assert found.span(2) == Span(0, 0)


def test_a_file_with_a_title_and_metadata_of_the_users_is_read_too(pool: Pool, path: Path) -> None:
    said: dict[str, Any] = {
        "title": "Days",
        "metadata": {"year": 2024, "share": 0.5, "dept": "人事"},
    }
    assert read(pool, put(pool, made(str(path), **said)).id) == DATA


def test_a_file_that_changed_is_not_read(pool: Pool, path: Path) -> None:
    stored = put(pool, made(str(path)))
    path.write_bytes(OTHER)
    assert reason(pool, stored.id) == "its file has changed since it was read"
    path.unlink()
    assert reason(pool, stored.id) == "its file is no longer at its place on this machine"


def test_a_file_that_became_something_else_is_not_read(pool: Pool, path: Path) -> None:
    stored = put(pool, made(str(path)))
    secret = path.with_name("secret")
    secret.write_bytes(b"the server's own")
    gone = "its file is no longer at its place on this machine"
    path.unlink()
    path.symlink_to(secret)
    assert reason(pool, stored.id) == "its file has changed since it was read"
    path.unlink()
    path.symlink_to("nowhere")
    assert reason(pool, stored.id) == gone
    path.unlink()
    os.mkfifo(path)  # opening it must not wait for a writer
    assert reason(pool, stored.id) == gone
    path.unlink()
    path.mkdir()
    assert reason(pool, stored.id) == gone


def test_a_path_that_somebody_made_up_gives_no_file(pool: Pool, path: Path) -> None:
    """Whoever could write any path into a row would still have to know the file's content."""
    path.write_bytes(b"the server's own")
    for uri in (str(path), "/etc/passwd", "/proc/self/environ", "/dev/zero", "/a\x01b"):
        stored = put(pool, made(uri))
        assert "file" in reason(pool, stored.id)


@pytest.mark.parametrize(
    "uri",
    [
        "https://a.org/a.pdf",
        "s3://bucket/a.pdf",
        "upload:a.pdf",
        "leave.pdf",
        "stdin:a.pdf",
        "/a.zip!/b.pdf",
    ],
)
def test_what_came_from_elsewhere_has_no_original(
    pool: Pool, path: Path, uri: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(path.parent)
    assert reason(pool, put(pool, made(uri)).id) == (
        "only uploads, and files of folders of this machine, are shown"
    )


def test_other_formats_have_no_pages(pool: Pool, path: Path) -> None:
    stored = put(pool, made(str(path), media_type="text/plain"))
    assert reason(pool, stored.id) == "only PDFs have pages that can be shown"


def test_too_large_a_file_is_not_read(
    pool: Pool, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    both = put(pool, made(str(path))), uploaded(pool)
    monkeypatch.setattr(originals, "MAX_BYTES", len(DATA) - 1)
    for stored in both:
        assert reason(pool, stored.id) == "its file is larger than 0 MB"


MASKED = "private data is masked in it, and the page would show that"


def test_masked_private_data_is_not_shown_by_a_picture(pool: Pool, path: Path) -> None:
    masked = put(pool, made(str(path), text="Write to [EMAIL] soon."))
    assert reason(pool, masked.id) == MASKED
    plain = put(pool, made(str(path)))
    assert reason(pool, plain.id, mask="all") == MASKED
    assert read(pool, plain.id) == DATA
    with pool.connection() as conn:
        conn.execute("""UPDATE collection SET settings = '{"ingest": {"mask": "email"}}'""")
    assert reason(pool, plain.id) == MASKED
    with pool.connection() as conn:
        conn.execute("""UPDATE collection SET settings = '{"ingest": {"mask": null}}'""")
    assert read(pool, plain.id, mask="all") == DATA, "the collection has a choice of its own"


def test_it_is_there_for_those_alone_who_may_read_the_document(pool: Pool, path: Path) -> None:
    for stored in (put(pool, made(str(path))), uploaded(pool)):
        Shares(pool, "default").document(stored.id, Change(add=("user:bob",)))
        assert read(pool, stored.id, readers=("user:bob",)) == DATA
        absent = f"There is no document {stored.id}."
        for options in ({"readers": ("user:eve",)}, {"tenant": "other"}):
            of = Originals(pool, **{"tenant": "default", **options})  # type: ignore[arg-type]
            with pytest.raises(NotFoundError) as refused:
                of.find(stored.id)
            assert str(refused.value) == absent


def test_a_new_version_has_its_own_file_and_a_restored_one_none(pool: Pool) -> None:
    first = uploaded(pool, keep_versions=3)
    second = uploaded(pool, OTHER, keep_versions=3)
    assert (first.id, read(pool, first.id)) == (second.id, OTHER)
    History(pool, "default").restore(first.id, 1)
    assert "uploads" in reason(pool, first.id), "the bytes of the first upload are gone"


def test_an_original_goes_with_its_document(pool: Pool) -> None:
    stored = uploaded(pool)
    of = Originals(pool, "default")
    found = of.find(stored.id)
    PostgresStore(pool).delete_document("c", stored.id)
    with pytest.raises(NotFoundError):
        of.read(found)
    with pool.connection() as conn:
        assert conn.execute("SELECT count(*) FROM source_part").fetchone() == (0,)


def test_stored_bytes_that_are_not_the_documents_are_not_shown(pool: Pool) -> None:
    stored = uploaded(pool)
    with pool.connection() as conn:
        conn.execute("UPDATE source_part SET data = %s", (OTHER,))
    assert reason(pool, stored.id) == "its file has changed since it was read"
    assert hashlib.sha256(OTHER).hexdigest() != hashlib.sha256(DATA).hexdigest()
