"""Sharing over HTTP: every route, asked by somebody who may not read what it is about."""

from __future__ import annotations

import hashlib
import io
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Final

import pytest
from fastapi.routing import APIRoute
from pydantic import SecretStr
from starlette.testclient import TestClient

from ragkit import Settings
from ragkit.access import keys
from ragkit.access.library import Caller, Library
from ragkit.contracts import Embedder
from ragkit.store.documents.sharing import Change, Shares, Sharing
from ragkit.store.jobs.upload_bytes import Sources, Upload
from ragkit.store.open import Database, open_database
from ragkit.testing.corpus import fill, new_document
from ragkit.types import Chunk, Citation, NewDocument
from ragkit_serve.api.app import create_app
from ragkit_serve.api.oidc import _groups
from ragkit_serve.api.services import Services
from ragkit_serve.page.source import source_html
from ragkit_serve.page.words import WORDS
from tests.core.store.uploads import first_upload, source_of
from tests.databases import Databases
from tests.serve.api.test_access import routes_of

MERGER: Final = "The merger with Acme is planned for May."


@dataclass(frozen=True)
class Site:
    """A collection "open" with a document for hr, and a collection "closed" for hr."""

    database: Database
    app: Any
    hidden: int
    shown: int
    chunk: int
    job: int

    def client(self, principal: str, *scopes: str, groups: tuple[str, ...] = ()) -> TestClient:
        made = keys.create(
            self.database,
            name="k",
            principal=principal,
            scopes=scopes or ("read", "write"),
            groups=groups,
        )
        headers = {"Authorization": f"Bearer {made.secret}"}
        return TestClient(
            self.app,
            base_url="http://127.0.0.1:8080",
            headers=headers,
            raise_server_exceptions=False,
        )


@pytest.fixture(scope="module")
def site(databases: Databases, loaded_embedder: Embedder) -> Iterator[Site]:
    with databases.take() as url:
        yield from _site(url, loaded_embedder)


def _site(url: str, loaded_embedder: Embedder) -> Iterator[Site]:
    settings = Settings(database_url=SecretStr(url), serve_key_rate=100_000, collection="open")
    with open_database(settings) as database:
        embedder = loaded_embedder
        store = database.store("default")
        (shown,) = fill(store, embedder, [new_document("cake.md", "The cake is good.")], "open")
        (closed,) = fill(store, embedder, [new_document("closed.md", MERGER)], "closed")
        sources = Sources(database.pool, "default")
        file = Upload("merger.txt", io.BytesIO(MERGER.encode()))
        (job,) = sources.keep("open", [file], principal="bob")
        with first_upload(database.pool) as (_, _, taken):
            document = NewDocument(
                uri=taken.uri,
                content_hash=hashlib.sha256(MERGER.encode()).hexdigest(),
                fingerprint="f",
                text=MERGER,
                chunks=(Chunk(0, 0, len(MERGER), 8),),
                title="Merger",
            )
            hidden = store.put_document(
                "open",
                document,
                embedder.space,
                embedder.embed_passages([MERGER]),
                job=taken,
                source=source_of(taken),
            )
        with database.pool.connection() as conn:
            row = conn.execute("SELECT id FROM chunk WHERE document_id = %s", (hidden.id,))
            (chunk,) = row.fetchone() or (0,)
        shares = Shares(database.pool, "default")
        shares.document(hidden.id, Change(add=("group:hr",)))
        shares.collection("closed", Change(add=("group:hr",)))
        library = Library(settings, database)
        library.embedder = library.embedders.default = embedder
        app = create_app(Services(settings, database, library), ui=True)
        yield Site(database, app, hidden.id, shown.id, chunk, job)
        assert closed.id


Ask = Callable[[TestClient, Site], Any]


def post(path: str, **body: Any) -> Ask:
    return lambda client, _: client.post(path, json=body)


def get(path: str) -> Ask:
    return lambda client, site: client.get(path.format(id=site.hidden, job=site.job))


def keep_then_read(client: TestClient, site: Site) -> Any:
    said = client.post("/v1/chat/completions", json=CHAT | {"store": True}).json()
    return client.get(f"/v1/chat/completions/{said['id']}")


def talk_then(path: str) -> Ask:
    def ask(client: TestClient, site: Site) -> Any:
        options = {"ragkit": {"conversation": "new"}}
        said = client.post("/v1/chat/completions", json=CHAT | options).json()
        number = said["choices"][0]["message"]["context"]["conversation"]
        return client.get(path.format(id=number))

    return ask


CHAT: Final[dict[str, Any]] = {
    "model": "ragkit/open",
    "messages": [{"role": "user", "content": "When is the merger planned?"}],
}
# What each route tells of what is hidden, asked in a way that tells those who may read it.
TELLS: Final[dict[str, Ask]] = {
    "GET /v1/collections": get("/v1/collections"),
    "GET /v1/collections/{name}": get("/v1/collections/closed"),
    "GET /v1/collections/{name}/documents": get("/v1/collections/open/documents"),
    "GET /v1/documents/{id}": get("/v1/documents/{id}"),
    "GET /v1/documents/{id}/text": get("/v1/documents/{id}/text?chunks=true"),
    "GET /v1/documents/{id}/source": get("/v1/documents/{id}/source"),
    "GET /v1/jobs": get("/v1/jobs"),
    "GET /v1/jobs/{id}": get("/v1/jobs/{job}"),
    "GET /v1/models": get("/v1/models"),
    "POST /v1/search": post("/v1/search", query="the merger with Acme", collection="open"),
    "POST /v1/chat/completions": post("/v1/chat/completions", **CHAT),
    "GET /v1/chat/completions/{id}": keep_then_read,
    "GET /v1/conversations/{id}": talk_then("/v1/conversations/{id}"),
    "GET /v1/conversations/{id}/export": talk_then("/v1/conversations/{id}/export?format=json"),
    "GET /ui/conversations/{id}": talk_then("/ui/conversations/{id}"),
    "GET /ui/documents/{collection}": get("/ui/documents/open"),
}
# Why a route has nothing to tell; or the test that asks it.
OTHERS: Final[dict[str, str]] = {
    "POST /v1/collections": "test_who_makes_a_collection_owns_it",
    "DELETE /v1/collections/{name}": "for keys with the scope admin",
    "PATCH /v1/collections/{name}": "for keys with the scope admin",
    "POST /v1/collections/{name}/documents": "test_what_may_not_be_read_cannot_be_changed",
    "DELETE /v1/documents/{id}": "test_what_may_not_be_read_cannot_be_changed",
    "DELETE /v1/jobs/{id}": "test_what_may_not_be_read_cannot_be_changed",
    "PUT /v1/documents/{id}/source": "test_what_may_not_be_read_cannot_be_changed",
    "GET /v1/collections/{name}/sharing": "test_an_owner_shares_and_others_do_not",
    "PUT /v1/collections/{name}/sharing": "test_an_owner_shares_and_others_do_not",
    "GET /v1/documents/{id}/sharing": "test_an_owner_shares_and_others_do_not",
    "PUT /v1/documents/{id}/sharing": "test_an_owner_shares_and_others_do_not",
    "DELETE /v1/chat/completions/{id}": "one's own",
    "GET /v1/conversations": "one's own questions",
    "PATCH /v1/conversations/{id}": "one's own",
    "DELETE /v1/conversations/{id}": "one's own",
    "GET /v1/feedback": "test_others_ratings_of_hidden_documents_are_not_there",
    "GET /v1/feedback/export": "test_others_ratings_of_hidden_documents_are_not_there",
    "POST /v1/feedback": "one's own answer",
    "DELETE /v1/feedback/{id}": "one's own, or everybody's for the scope admin",
    "POST /v1/embeddings": "of the request's own texts",
    "POST /v1/rerank": "of the request's own texts",
    "GET /v1/models/{model}": "test_a_hidden_document_is_like_an_absent_one",
    "GET /openapi.json": "no documents",
    "GET /ui/me": "no documents",
    "GET /ui/models": "no documents",
    "GET /ui/passages/{document}": "test_the_page_tells_no_more",
    "GET /ui/notice/{collection}": "counts alone; tests/serve/page/test_page.py has their readers",
    "GET /ui/static/{name}": "no documents",
    "GET /ui/suggestions/{collection}": "tests/serve/page/test_suggestions.py has their readers",
    "GET /ui/static/look.css": "no documents",
    "GET /ui/static/mark.svg": "no documents",
    "GET /ui/sources/{id}/{ordinal}/{n}": "test_the_page_tells_no_more",
    "POST /ui/ask": "as POST /v1/chat/completions, in tests/serve/page/test_asking.py",
    "GET /v1/documents/{id}/versions": "test_a_hidden_document_is_like_an_absent_one",
    "GET /v1/documents/{id}/pages/{page}": "test_pages.py",
    "GET /v1/documents/{id}/pages/{page}.png": "test_pages.py",
    "POST /v1/documents/{id}/versions/{version}/restore": (
        "test_what_may_not_be_read_cannot_be_changed"
    ),
}
PLAIN: Final = ("/livez", "/readyz", "/metrics", "/login", "/logout", "/healthz")


def routes(app: Any) -> set[str]:
    found = set()
    for route in routes_of(app):
        if isinstance(route, APIRoute) and not route.path.startswith(PLAIN):
            path = route.path.replace(":path}", "}")
            found |= {f"{method} {path}" for method in route.methods or ()}
    return found


def test_every_route_is_looked_at(site: Site) -> None:
    """A new route needs a line above: how it is asked, or why it has nothing to tell."""
    assert routes(site.app) == TELLS.keys() | OTHERS.keys()


@pytest.mark.parametrize("name", TELLS)
def test_a_route_tells_those_who_may_read(site: Site, name: str) -> None:
    ask = TELLS[name]
    secrets = ("Acme", "merger.txt", "closed")
    said = ask(site.client("bob", groups=("hr",)), site)
    assert any(word in said.text for word in secrets), said.text
    hers = ask(site.client("ada"), site)
    if hers.status_code == 404:
        assert "There is no" in hers.text
    else:
        assert not any(word in hers.text for word in secrets), hers.text


def test_a_hidden_document_is_like_an_absent_one(site: Site) -> None:
    client = site.client("ada")
    for path in ("", "/text", "/source", "/sharing", "/versions", "/pages/1", "/pages/1.png"):
        hidden = client.get(f"/v1/documents/{site.hidden}{path}")
        absent = client.get(f"/v1/documents/999999{path}")
        assert (hidden.status_code, absent.status_code) == (404, 404)
        assert hidden.text == absent.text.replace("999999", str(site.hidden))
    named = Asking(client)
    for ask in (named.model, named.get, named.list, named.sharing, named.search, named.chat):
        closed, absent = ask("closed"), ask("absent")
        assert (closed.status_code, absent.status_code) == (404, 404), closed.text
        assert closed.text == absent.text.replace("absent", "closed")


@dataclass(frozen=True)
class Asking:
    """What can be asked of a collection by its name."""

    client: TestClient

    def get(self, name: str) -> Any:
        return self.client.get(f"/v1/collections/{name}")

    def model(self, name: str) -> Any:
        return self.client.get(f"/v1/models/ragkit/{name}")

    def list(self, name: str) -> Any:
        return self.client.get(f"/v1/collections/{name}/documents")

    def sharing(self, name: str) -> Any:
        return self.client.get(f"/v1/collections/{name}/sharing")

    def search(self, name: str) -> Any:
        return self.client.post("/v1/search", json={"query": "merger", "collection": name})

    def chat(self, name: str) -> Any:
        return self.client.post("/v1/chat/completions", json=CHAT | {"model": f"ragkit/{name}"})


def test_what_may_not_be_read_cannot_be_changed(site: Site) -> None:
    client = site.client("ada")
    file = {"file": ("merger.txt", b"ada's own")}
    assert client.delete(f"/v1/documents/{site.hidden}").status_code == 404
    restored = client.post(f"/v1/documents/{site.hidden}/versions/1/restore")
    assert "There is no document" in restored.json()["error"]["message"]
    assert client.put(f"/v1/documents/{site.hidden}/source", files=file).status_code == 404
    assert client.delete(f"/v1/jobs/{site.job}").status_code == 404
    assert client.post("/v1/collections/closed/documents", files=file).status_code == 404
    # A file of the same name becomes a document beside the one that she does not know of.
    sent = client.post("/v1/collections/open/documents", files=file)
    assert sent.status_code == 202
    with site.database.pool.connection() as conn:
        kept = conn.execute("SELECT count(DISTINCT uri_key) FROM source WHERE name = 'merger.txt'")
        assert kept.fetchone() == (2,)
    assert (
        site.client("bob", groups=("hr",)).get(f"/v1/documents/{site.hidden}").json()["version"]
        == 1
    )


def test_who_makes_a_collection_owns_it(site: Site) -> None:
    client = site.client("eve")
    made = client.post("/v1/collections", json={"id": "eves", "readers": ["group:it"]})
    assert made.status_code == 201
    assert (made.json()["owner"], made.json()["readers"]) == ("user:eve", ["group:it"])
    assert site.client("ada").get("/v1/collections/eves").status_code == 404
    member = site.client("max", groups=("it",)).get("/v1/collections/eves").json()
    assert (member["id"], member["owner"], member["readers"]) == ("eves", None, None)
    taken = site.client("ada").post("/v1/collections", json={"id": "eves"})
    assert (taken.status_code, "choose another name" in taken.text) == (400, True)
    bad = client.post("/v1/collections", json={"id": "bad", "readers": ["everybody"]})
    assert (bad.status_code, "no principal" in bad.text) == (400, True)


def test_an_owner_shares_and_others_do_not(site: Site) -> None:
    client = site.client("eve")
    client.post("/v1/collections", json={"id": "shared"})
    path = "/v1/collections/shared/sharing"
    assert client.get(path).json() == {"object": "sharing", "owner": "user:eve", "readers": None}
    assert site.client("ada").put(path, json={"readers": []}).status_code == 403
    assert site.client("ada").get(path).status_code == 403
    assert client.put(path, json={"readers": ["user:ada"]}).json()["readers"] == ["user:ada"]
    assert site.client("ada").get("/v1/collections/shared").status_code == 200
    assert site.client("max").get("/v1/collections/shared").status_code == 404
    assert client.put(path, json={"readers": []}).json()["readers"] == []
    assert site.client("ada").get("/v1/collections/shared").status_code == 404
    assert client.put(path, json={"readers": ["nobody"]}).status_code == 400
    assert client.put(path, json={}).status_code == 400
    # A key with the scope admin shares also what its principal may not read.
    admin = site.client("root", "read", "admin")
    assert admin.get("/v1/collections/shared").status_code == 404
    given = admin.put(path, json={"readers": None, "owner": "user:root"}).json()
    assert given == {"object": "sharing", "owner": "user:root", "readers": None}
    assert client.put(path, json={"readers": []}).status_code == 403
    own = f"/v1/documents/{site.hidden}/sharing"
    assert site.client("max", groups=("hr",)).put(own, json={"readers": None}).status_code == 403
    bob = site.client("bob")  # he sent the file
    assert bob.get(own).json()["owner"] == "user:bob"
    assert bob.put(own, json={"readers": ["group:hr"]}).status_code == 200
    assert bob.put("/v1/documents/999999/sharing", json={"readers": []}).status_code == 404


def test_others_ratings_of_hidden_documents_are_not_there(site: Site) -> None:
    bob = site.client("bob", groups=("hr",))
    said = bob.post("/v1/chat/completions", json=CHAT | {"store": True}).json()
    assert "Acme" in said["choices"][0]["message"]["content"]
    rated = bob.post("/v1/feedback", json={"answer_id": said["id"], "rating": "up"})
    assert rated.status_code == 200, rated.text
    for path in ("/v1/feedback", "/v1/feedback/export"):
        assert (
            "Acme is planned for May"
            in site.client("root", "read", "admin", groups=("hr",)).get(path).text
        )
        assert "planned for May" not in site.client("root", "read", "admin").get(path).text


def test_an_answer_keeps_no_citation_of_what_may_no_longer_be_read(site: Site) -> None:
    shares = Shares(site.database.pool, "default")
    carl = site.client("carl")
    shares.document(site.hidden, Change(add=("user:carl",)))
    try:
        said = carl.post("/v1/chat/completions", json=CHAT | {"store": True}).json()
        path = f"/v1/chat/completions/{said['id']}"
        assert site.hidden in cited(carl.get(path))
    finally:
        assert shares.document(site.hidden, Change(remove=("user:carl",))) == Sharing(
            "user:bob", ("group:hr",)
        )
    assert site.hidden not in cited(carl.get(path))


def cited(answer: Any) -> set[int]:
    context = answer.json()["choices"][0]["message"]["context"]
    return {citation["document"] for citation in context["citations"]}


def test_the_page_tells_no_more(site: Site) -> None:
    services, words = site.app.state.services, WORDS["en"]
    quoted = [Citation(1, site.hidden, "u", "t", None, 0, 10, "Q")]
    for name, groups, seen in (("ada", (), False), ("bob", ("hr",), True)):
        listed = site.client(name, "read", groups=groups).get("/ui/documents/open").json()
        assert (site.hidden in [one["id"] for one in listed["documents"]]) == seen
        assert listed["all"] == (2 if seen else 1)
        path = f"/ui/passages/{site.hidden}?version=1&start=0&end=5"
        shown = site.client(name, "read", groups=groups).get(path)
        assert shown.status_code == (200 if seen else 404)
        caller = Caller("default", name, groups=groups)
        store = services.library.store(caller)
        assert ("Acme" in source_html(store, caller, quoted, words)) == seen


def test_whoever_runs_the_server_reads_all(site: Site) -> None:
    from ragkit_serve.api.keyring import Keyring

    owner = Keyring(site.database, Settings(), loopback=True).owner
    assert owner.readers is None


@pytest.mark.parametrize(
    ("claim", "groups"),
    [
        (["hr", "it", "hr"], ["hr", "it"]),
        ("hr", ["hr"]),
        (None, []),
        ([1, "", " ", "a\nb", "x" * 300, {"a": 1}], []),
        ({"hr": True}, []),
    ],
)
def test_groups_of_a_token(claim: object, groups: list[str]) -> None:
    assert _groups(claim) == groups
