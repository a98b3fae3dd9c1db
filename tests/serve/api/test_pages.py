"""Pages of original PDFs over HTTP: for whom they are, of which bytes, how they are cached."""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pytest
from pydantic import SecretStr
from starlette.testclient import TestClient

from ragkit import Settings
from ragkit.access import keys
from ragkit.access.library import Library
from ragkit.documents.content_hash import content_hash
from ragkit.store.documents.sharing import Change, Shares
from ragkit.store.jobs.originals import PDF
from ragkit.store.open import Database, open_database
from ragkit.testing import FakeEmbedder
from ragkit.types import Chunk, Document, NewDocument, Page
from ragkit_serve.api.app import create_app
from ragkit_serve.api.services import Services
from ragkit_serve.original.renderer import PageLimits, PageRenderer
from tests.ingest.pdfs import column, pdf

LINES: Final = ("Leave is 28 days a year.", "Unused days lapse in March.")
DATA: Final = pdf([column(72, 700, LINES), column(72, 700, ["The second page."])])
TEXT: Final = " ".join(LINES) + "\n\nThe second page."
SECOND: Final = TEXT.index("Unused")
PLACES: Final = f"{SECOND}-{SECOND + len(LINES[1])}"


@dataclass
class Site:
    """A database with the document of a PDF in a folder, and an app over it."""

    database: Database
    app: Any
    path: Path

    def put(self, tenant: str = "default", collection: str = "default", **more: Any) -> Document:
        """Store a document of the file."""
        embedder = FakeEmbedder()
        embedder.load()
        store = self.database.store(tenant)
        store.create_collection(collection)
        new = NewDocument(
            uri=str(self.path),
            content_hash=content_hash(DATA),
            fingerprint="f",
            text=TEXT,
            chunks=(Chunk(0, 0, len(TEXT), 9, 1),),
            pages=(Page(0, 1), Page(TEXT.index("The second"), 2)),
            **{"title": "Leave", "media_type": PDF, **more},
        )
        vectors = embedder.embed_passages([TEXT])
        return store.put_document(collection, new, embedder.space, vectors)

    def client(self, principal: str = "ada", **key: Any) -> TestClient:
        made = keys.create(self.database, name="k", principal=principal, **key)
        headers = {"authorization": f"Bearer {made.secret}"}
        return TestClient(self.app, base_url="http://127.0.0.1:8080", headers=headers)


@pytest.fixture
def site(fresh_database: str, tmp_path: Path) -> Iterator[Site]:
    path = tmp_path / "leave.pdf"
    path.write_bytes(DATA)
    settings = Settings(database_url=SecretStr(fresh_database))
    with open_database(settings) as database:
        services = Services(settings, database, Library(settings, database))
        yield Site(database, create_app(services, ui=True), path)


def error(answer: Any, status: int) -> str:
    assert answer.status_code == status, answer.text
    return str(answer.json()["error"]["message"])


def test_a_page_is_a_picture_with_its_marks_beside_it(site: Site) -> None:
    number, client = site.put().id, site.client()
    picture = client.get(f"/v1/documents/{number}/pages/1.png")
    assert picture.status_code == 200
    assert picture.headers["content-type"] == "image/png"
    assert picture.headers["cache-control"] == "private, no-cache"
    assert picture.headers["x-content-type-options"] == "nosniff"
    assert picture.content.startswith(b"\x89PNG")
    page = client.get(f"/v1/documents/{number}/pages/1", params={"mark": PLACES}).json()
    (mark,) = page.pop("marks")
    assert page == {
        "object": "document.page",
        "document": number,
        "version": 1,
        "page": 1,
        "pages": 2,
        "width": 612.0,
        "height": 792.0,
        "picture": None,
    }
    both = client.get(f"/v1/documents/{number}/pages/1", params={"picture": True}).json()
    assert (b64decode(both["picture"]), both["marks"]) == (picture.content, [])
    assert mark["left"] == pytest.approx(72 / 612, abs=0.01)
    assert mark["width"] == pytest.approx(len(LINES[1]) * 7.2 / 612, abs=0.01)
    assert mark["top"] < 1 - 689 / 792 < mark["top"] + mark["height"]


def test_a_quotation_over_two_pages_is_marked_on_each(site: Site) -> None:
    number, client = site.put().id, site.client()
    for page, lines in ((1, 1), (2, 1)):
        path = f"/v1/documents/{number}/pages/{page}?mark={SECOND}-{len(TEXT)}"
        assert len(client.get(path).json()["marks"]) == lines


def test_what_has_no_place_on_the_page_is_not_marked(site: Site) -> None:
    number, client = site.put().id, site.client()
    for places in ("0-0", "90000-90005", "9999999999-9999999999", f"{len(TEXT)}-{len(TEXT) + 5}"):
        page = client.get(f"/v1/documents/{number}/pages/1?mark={places}")
        assert (page.status_code, page.json()["marks"]) == (200, [])


@pytest.mark.parametrize("query", ["mark=5", "mark=5-3", "mark=-1-3", "mark=a-b", "version=0"])
def test_nonsense_is_a_400(site: Site, query: str) -> None:
    number = site.put().id
    error(site.client().get(f"/v1/documents/{number}/pages/1?{query}"), 400)


def test_marks_and_pages_are_bounded(site: Site) -> None:
    number, client = site.put().id, site.client()
    many = {"mark": ["0-5"] * 21}
    error(client.get(f"/v1/documents/{number}/pages/1", params=many), 400)
    for page in ("0", "-1", "1000001", "x"):
        error(client.get(f"/v1/documents/{number}/pages/{page}.png"), 400)
    assert "the file has 2 pages" in error(client.get(f"/v1/documents/{number}/pages/3.png"), 404)


def test_the_same_picture_is_not_sent_again(site: Site) -> None:
    number, client = site.put().id, site.client()
    path = f"/v1/documents/{number}/pages/1.png"
    tag = client.get(path).headers["etag"]
    again = client.get(path, headers={"if-none-match": f'W/"x", {tag}'})
    assert (again.status_code, again.content, again.headers["etag"]) == (304, b"", tag)
    assert client.get(f"/v1/documents/{number}/pages/2.png").headers["etag"] != tag
    Shares(site.database.pool, "default").document(number, Change(add=("user:bob",)))
    error(client.get(path, headers={"if-none-match": tag}), 404)


def test_it_is_there_for_those_alone_who_may_read_the_document(site: Site) -> None:
    number = site.put().id
    paths = [f"/v1/documents/{number}/pages/{page}" for page in ("1", "1.png")]
    Shares(site.database.pool, "default").document(number, Change(add=("user:bob",)))
    others = (
        site.client("eve"),
        site.client("bob", tenant="other"),
        site.client("bob", collections=["elsewhere"]),
    )
    for path in paths:
        assert site.client("bob").get(path).status_code == 200
        for client in others:
            assert error(client.get(path), 404) == f"There is no document {number}."
        assert site.client("bob", scopes=("write",)).get(path).status_code == 403
        nobody = TestClient(site.app, base_url="http://127.0.0.1:8080")
        assert nobody.get(path).status_code == 401


def test_a_right_that_is_taken_away_holds_for_the_next_page(site: Site) -> None:
    number, shares = site.put().id, Shares(site.database.pool, "default")
    client = site.client("bob")
    shares.document(number, Change(add=("user:bob",)))
    assert client.get(f"/v1/documents/{number}/pages/1.png").status_code == 200
    shares.document(number, Change(add=("user:ada",), remove=("user:bob",)))
    for page in ("1", "1.png", "2.png"):
        error(client.get(f"/v1/documents/{number}/pages/{page}"), 404)


def test_a_file_that_is_gone_or_has_changed_is_told_in_plain_words(site: Site) -> None:
    number, client = site.put().id, site.client()
    path = f"/v1/documents/{number}/pages/1.png"
    site.path.write_bytes(DATA + b"\n")
    assert "its file has changed since it was read" in error(client.get(path), 404)
    site.path.unlink()
    message = error(client.get(path), 404)
    assert message.startswith(f"The original pages of document {number} cannot be shown: its file")
    assert message.endswith(f"Its text is at /v1/documents/{number}/text.")
    assert str(site.path) not in message


def test_another_version_is_refused(site: Site) -> None:
    number, client = site.put().id, site.client()
    site.put(title="Leave, again")
    for page in ("1", "1.png"):
        path = f"/v1/documents/{number}/pages/{page}"
        assert "at version 2 now" in error(client.get(path, params={"version": 1}), 404)
        assert client.get(path, params={"version": 2}).status_code == 200


def test_other_formats_have_no_pages(site: Site) -> None:
    number = site.put(media_type="text/plain").id
    assert "only PDFs have pages" in error(
        site.client().get(f"/v1/documents/{number}/pages/1"), 404
    )


def test_a_full_renderer_asks_to_come_again(site: Site) -> None:
    number = site.put().id
    state = site.app.state.ragkit
    object.__setattr__(state, "pages", PageRenderer(PageLimits(at_once=1, wait_s=0.05)))
    with state.pages._place():
        answer = site.client().get(f"/v1/documents/{number}/pages/1.png")
    assert "too many pages are being drawn" in error(answer, 503)
    assert answer.headers["retry-after"] == "5"
