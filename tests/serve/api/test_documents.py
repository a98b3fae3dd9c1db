"""Collections, documents and jobs over HTTP, on the real database; the worker is played by hand."""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

import numpy as np
import pytest
from starlette.testclient import TestClient

from ragkit.access import keys
from ragkit.access.library import Library
from ragkit.settings.settings import Settings
from ragkit.store.jobs.upload_bytes import Sources
from ragkit.store.open import Database, open_database
from ragkit.types import Chunk, Document, EmbeddingSpace, NewDocument, Page
from ragkit_serve.api.app import create_app
from ragkit_serve.api.services import Services
from tests.core.store.uploads import first_upload, source_of

SPACE = EmbeddingSpace("m", "1", 2)
Answer = Any  # of the HTTP library that Starlette's client has chosen
TEXT = "Leave is 28 days. 休假二十八天。 " * 400


@dataclass
class Site:
    """An app and its database; a client is open as anybody, or has a key."""

    database: Database
    services: Services

    def client(self, **key: Any) -> TestClient:
        headers = {}
        if key:
            headers["Authorization"] = (
                f"Bearer {keys.create(self.database, name='k', **key).secret}"
            )
        return TestClient(
            create_app(self.services), base_url="http://127.0.0.1:8080", headers=headers
        )

    def work(self) -> Document:
        """Take in the next upload as one whose every character counts, in two chunks and pages."""
        with first_upload(self.database.pool) as (queue, _, job):
            sources = Sources(self.database.pool, queue.tenant)
            data = b"".join(sources.parts(sources.get(source_of(job))))
            text = data.decode()
            middle = len(text) // 2
            document = NewDocument(
                uri=job.uri,
                content_hash=hashlib.sha256(data).hexdigest(),
                fingerprint="f",
                text=text,
                chunks=(
                    Chunk(0, 0, middle, 9, 1, ("Leave",)),
                    Chunk(1, middle, len(text), 9, 2),
                ),
                title="Leave",
                language="en",
                media_type="text/plain",
                pages=(Page(0, 1), Page(middle, 2)),
            )
            return self.database.store(queue.tenant).put_document(
                queue.name,
                document,
                SPACE,
                np.eye(2, dtype=np.float32),
                job=job,
                source=source_of(job),
            )


@pytest.fixture
def site(fresh_database: str) -> Iterator[Site]:
    settings = Settings(database_url=fresh_database, serve_max_upload_mb=1)  # type: ignore[arg-type]
    with open_database(settings) as database:
        yield Site(database, Services(settings, database, Library(settings, database)))


@pytest.fixture
def client(site: Site) -> TestClient:
    return site.client()


def upload(
    client: TestClient,
    text: str = TEXT,
    name: str = "leave.txt",
    collection: str = "default",
    **options: Any,
) -> Answer:
    return client.post(
        f"/v1/collections/{collection}/documents",
        files={"file": (name, text.encode())},
        **options,
    )


def document(site: Site, client: TestClient, **sent: str) -> int:
    assert upload(client, **sent).status_code == 202
    return site.work().id


def error(response: Answer, status: int) -> str:
    assert response.status_code == status, response.text
    message = response.json()["error"]["message"]
    assert isinstance(message, str)
    return message


@pytest.mark.parametrize("name", ["figures.dwg", "论文.wps", "logs.gz", "all.rar", "a.NUMBERS"])
def test_what_nothing_reads_is_refused_at_once(site: Site, client: TestClient, name: str) -> None:
    refused = upload(client, name=name)
    message = error(refused, 415)
    assert message.startswith(f"{name!r} cannot be read: {name[name.rfind('.') :].lower()} is none")
    listed = message.rpartition("one of ")[2].split(", ")
    assert {".pdf", ".zip", ".eml", ".md"} <= set(listed)
    assert not {".dwg", ".wps", ".gz", ".rar", ".numbers"} & set(listed)
    assert client.get("/v1/jobs").json()["data"] == []
    number = document(site, client)
    replaced = client.put(f"/v1/documents/{number}/source", files={"file": (name, b"x")})
    assert error(replaced, 415) == message


@pytest.mark.parametrize("name", ["papers.zip", "Offer.EML", "会议.msg", "all.tar.GZ", "in.mbox"])
def test_mails_and_archives_are_taken(client: TestClient, name: str) -> None:
    assert upload(client, name=name).status_code == 202


def test_collections_are_made_listed_and_deleted(client: TestClient) -> None:
    for name in ("b", "a", "报告"):
        made = client.post("/v1/collections", json={"id": name})
        assert (made.status_code, made.json()["id"]) == (201, name)
    assert client.post("/v1/collections", json={"id": "a"}).status_code == 200
    page = client.get("/v1/collections", params={"limit": 2}).json()
    assert [one["id"] for one in page["data"]] == ["a", "b"]
    assert (page["object"], page["has_more"], page["last_id"]) == ("list", True, "b")
    rest = client.get("/v1/collections", params={"after": "b"}).json()
    assert [one["id"] for one in rest["data"]] == ["报告"]
    assert rest["has_more"] is False
    assert client.delete("/v1/collections/a").status_code == 204
    assert error(client.delete("/v1/collections/a"), 404) == "There is no collection 'a'."
    assert client.get("/v1/collections/报告").json()["documents"] == 0


@pytest.mark.parametrize("name", ["", "a/b", "a\0b", "x" * 201])
def test_names_that_no_collection_can_have(client: TestClient, name: str) -> None:
    error(client.post("/v1/collections", json={"id": name}), 400)
    client.post("/v1/collections", json={"id": "a"})
    error(client.patch("/v1/collections/a", json={"id": name}), 400)


def test_a_collection_is_renamed(client: TestClient) -> None:
    for name in ("a", "b"):
        client.post("/v1/collections", json={"id": name})
    renamed = client.patch("/v1/collections/a", json={"id": "手册"})
    assert (renamed.status_code, renamed.json()["id"]) == (200, "手册")
    assert [one["id"] for one in client.get("/v1/collections").json()["data"]] == ["b", "手册"]
    assert "choose another name" in error(
        client.patch("/v1/collections/b", json={"id": "手册"}), 400
    )
    assert error(client.patch("/v1/collections/a", json={"id": "c"}), 404) == (
        "There is no collection 'a'."
    )


def test_an_upload_is_kept_and_its_job_tells_how_it_goes(site: Site, client: TestClient) -> None:
    answer = upload(client)
    assert answer.status_code == 202
    (job,) = answer.json()["data"]
    assert (job["state"], job["name"], job["uri"]) == ("queued", "leave.txt", "upload:leave.txt")
    stored = site.work()
    done = client.get(f"/v1/jobs/{job['id']}").json()
    assert (done["state"], done["document"]) == ("done", stored.id)
    item = client.get(f"/v1/documents/{stored.id}").json()
    assert (item["file"], item["bytes"], item["chunks"], item["pages"]) == (
        "leave.txt",
        len(TEXT.encode()),
        2,
        2,
    )
    error(client.get("/v1/jobs/99"), 404)
    assert client.get("/v1/jobs", params={"state": "queued"}).json()["data"] == []


def test_a_job_that_has_ended_is_forgotten_and_its_document_stays(
    site: Site, client: TestClient
) -> None:
    (job,) = upload(client).json()["data"]
    path = f"/v1/jobs/{job['id']}"
    early = client.delete(path)
    assert "queued" in error(early, 409)
    assert early.json()["error"]["code"] == "job_not_ended"
    stored = site.work()
    error(site.client(scopes=["read"]).delete(path), 403)
    bound = site.client(scopes=["read", "write"], collections=["other"])
    assert error(bound.delete(path), 404) == f"There is no job {job['id']}."
    assert site.client(scopes=["read", "write"]).delete(path).status_code == 204
    reader = site.client(scopes=["read"])
    error(reader.get(path), 404)
    assert reader.get(f"/v1/documents/{stored.id}").status_code == 200


def test_several_files_in_one_request_are_as_many_jobs(client: TestClient) -> None:
    files = [("file", (f"{n}.txt", b"x")) for n in range(3)]
    answer = client.post("/v1/collections/default/documents", files=files)
    assert [job["name"] for job in answer.json()["data"]] == ["0.txt", "1.txt", "2.txt"]
    page = client.get("/v1/jobs", params={"limit": 2}).json()
    assert [job["name"] for job in page["data"]] == ["2.txt", "1.txt"]
    rest = client.get("/v1/jobs", params={"after": page["last_id"]}).json()
    assert [job["name"] for job in rest["data"]] == ["0.txt"]


def test_the_same_request_sent_again_is_answered_with_the_same_jobs(client: TestClient) -> None:
    key: dict[str, Any] = {"headers": {"Idempotency-Key": "0b2f"}}
    first = upload(client, **key)
    assert upload(client, **key).json() == first.json()
    reused = upload(client, "other", **key)
    assert "used for other files" in error(reused, 409)
    assert reused.json()["error"]["code"] == "idempotency_key_reused"


def test_what_is_no_upload_is_refused(client: TestClient) -> None:
    url = "/v1/collections/default/documents"
    error(client.post(url, json={"file": "x"}), 415)
    error(client.post(url, files={"other": ("a.txt", b"x")}), 400)
    error(client.post(url, data={"file": "x"}, files={"other": b""}), 400)
    broken = {"content-type": "multipart/form-data; boundary=x"}
    error(client.post(url, content=b"--x\r\nnonsense", headers=broken), 400)
    error(client.post(url, content=b"x", headers={"content-type": "multipart/form-data"}), 400)
    assert "no extension" in error(upload(client, name="plain"), 400)
    assert error(upload(client, collection="missing"), 404) == "There is no collection 'missing'."
    error(upload(client, "x" * (3 << 20)), 413)
    assert client.get("/v1/jobs").json()["data"] == []


def test_documents_are_paged_and_deleted(site: Site, client: TestClient) -> None:
    numbers = [document(site, client, name=f"{n}.txt") for n in range(3)]
    url = "/v1/collections/default/documents"
    page = client.get(url, params={"limit": 2}).json()
    assert [one["id"] for one in page["data"]] == numbers[:2]
    rest = client.get(url, params={"limit": 2, "after": page["last_id"]}).json()
    assert ([one["id"] for one in rest["data"]], rest["has_more"]) == (numbers[2:], False)
    assert client.delete(f"/v1/documents/{numbers[0]}").status_code == 204
    error(client.delete(f"/v1/documents/{numbers[0]}"), 404)
    error(client.get(f"/v1/documents/{numbers[0]}/text"), 404)
    error(client.get("/v1/documents/99999999999999999999"), 400)


def test_a_document_is_replaced_under_another_name(site: Site, client: TestClient) -> None:
    number = document(site, client)
    file = {"file": ("Leave 2025.txt", b"New leave.")}
    answer = client.put(f"/v1/documents/{number}/source", files=file)
    assert answer.status_code == 202
    assert site.work().id == number
    item = client.get(f"/v1/documents/{number}").json()
    assert (item["version"], item["uri"], item["file"]) == (2, "upload:leave.txt", "Leave 2025.txt")
    two = [("file", ("a.txt", b"x")), ("file", ("b.txt", b"x"))]
    error(client.put(f"/v1/documents/{number}/source", files=two), 400)
    error(client.put("/v1/documents/99/source", files=file), 404)


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("休假 1.txt", "text/plain; charset=utf-8"),
        ("x.html", "application/octet-stream"),
        ('"; a.xml', "application/octet-stream"),
    ],
)
def test_a_file_comes_back_as_an_attachment(
    site: Site, client: TestClient, name: str, kind: str
) -> None:
    number = document(site, client, name=name)
    answer = client.get(f"/v1/documents/{number}/source")
    assert answer.content.decode() == TEXT
    assert answer.headers["content-type"] == kind
    assert answer.headers["x-content-type-options"] == "nosniff"
    named = f"attachment; filename*=UTF-8''{quote(name)}"
    assert answer.headers["content-disposition"] == named
    assert answer.headers["content-length"] == str(len(TEXT.encode()))


def test_a_document_from_a_path_has_no_file(site: Site, client: TestClient) -> None:
    store = site.database.store("default")
    store.create_collection("default")
    new = NewDocument("/a.txt", "h", "f", "text", (Chunk(0, 0, 4, 1),))
    stored = store.put_document("default", new, SPACE, np.array([[1, 0]], np.float32))
    answer = client.get(f"/v1/documents/{stored.id}/source")
    assert "read from a path, not uploaded" in error(answer, 404)
    assert client.get(f"/v1/documents/{stored.id}").json()["file"] is None


def test_text_comes_in_pieces_with_pages_and_chunks(site: Site, client: TestClient) -> None:
    url = f"/v1/documents/{document(site, client)}/text"
    middle = len(TEXT) // 2

    def get(**query: Any) -> dict[str, Any]:
        answer = client.get(url, params=query)
        assert answer.status_code == 200, answer.text
        found: dict[str, Any] = answer.json()
        assert found["text"] == TEXT[found["start"] : found["end"]]
        return found

    whole = get()
    assert (whole["start"], whole["end"], whole["chars"]) == (0, len(TEXT), len(TEXT))
    assert whole["pages"] == [{"page": 1, "start": 0}, {"page": 2, "start": middle}]
    assert whole["chunks"] is None
    piece = get(start=middle - 5, end=middle, chunks=True)
    assert (piece["text"], piece["pages"]) == (
        TEXT[middle - 5 : middle],
        [{"page": 1, "start": 0}],
    )
    assert [(one["start"], one["headings"]) for one in piece["chunks"]] == [(0, ["Leave"])]
    behind = get(start=middle, end=middle + 5, chunks=True)
    assert behind["pages"] == [{"page": 2, "start": middle}]
    assert [one["start"] for one in behind["chunks"]] == [middle]
    around = get(around=middle)
    assert (around["start"], around["end"]) == (middle - 2000, middle + 2000)
    assert get(around=3)["start"] == 0
    assert get(start=len(TEXT) + 7)["text"] == ""
    for wrong in (
        {"start": 5, "end": 4},
        {"start": -1},
        {"start": 0, "end": 200_001},
        {"around": 1, "start": 0},
        {"start": 2**31},
    ):
        error(client.get(url, params=wrong), 400)


def test_a_key_does_what_its_scope_says_and_no_more(site: Site) -> None:
    writer = site.client(scopes=["read", "write"])
    number = document(site, writer)
    reader = site.client()
    assert reader.get("/v1/collections").status_code == 401
    reader = site.client(scopes=["read"])
    assert reader.get(f"/v1/documents/{number}").status_code == 200
    error(upload(reader), 403)
    error(reader.post("/v1/collections", json={"id": "x"}), 403)
    error(reader.delete(f"/v1/documents/{number}"), 403)
    error(reader.put(f"/v1/documents/{number}/source", files={"file": ("a.txt", b"x")}), 403)
    error(writer.delete("/v1/collections/default"), 403)
    error(writer.patch("/v1/collections/default", json={"id": "x"}), 403)
    bound = site.client(scopes=["admin"], collections=["default"])
    error(bound.patch("/v1/collections/default", json={"id": "x"}), 403)
    admin = site.client(scopes=["admin"])
    assert admin.delete("/v1/collections/default").status_code == 204


def test_what_a_caller_may_not_see_is_not_there(site: Site) -> None:
    owner = site.client(scopes=["read", "write"])
    owner.post("/v1/collections", json={"id": "open"})
    number = document(site, owner)
    (job,) = owner.get("/v1/jobs").json()["data"]
    for stranger in (
        site.client(scopes=["read", "write", "admin"], collections=["open"]),
        site.client(scopes=["read", "write", "admin"], tenant="other"),
    ):
        for path, missing in (
            (f"/v1/documents/{number}", "/v1/documents/99"),
            (f"/v1/documents/{number}/text", "/v1/documents/99/text"),
            (f"/v1/documents/{number}/source", "/v1/documents/99/source"),
            (f"/v1/jobs/{job['id']}", "/v1/jobs/99"),
        ):
            hidden = error(stranger.get(path), 404)
            there = str(job["id"] if "jobs" in path else number)
            assert hidden.replace(there, "99") == error(stranger.get(missing), 404)
        error(stranger.delete(f"/v1/documents/{number}"), 404)
        error(stranger.put(f"/v1/documents/{number}/source", files={"file": ("a.txt", b"")}), 404)
        assert stranger.get("/v1/jobs").json()["data"] == []
    limited = site.client(scopes=["read", "write", "admin"], collections=["open"])
    assert [one["id"] for one in limited.get("/v1/collections").json()["data"]] == ["open"]
    for method in ("GET", "DELETE"):
        error(limited.request(method, "/v1/collections/default"), 404)
    error(limited.get("/v1/collections/default/documents"), 404)
    error(upload(limited), 404)
    error(limited.post("/v1/collections", json={"id": "new"}), 403)
