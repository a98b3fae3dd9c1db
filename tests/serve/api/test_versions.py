"""Old versions over HTTP: listed, taken back, asked about; and everybody who may not."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

import pytest
from pydantic import SecretStr
from starlette.testclient import TestClient

from ragkit import Settings
from ragkit.access import keys
from ragkit.access.library import Library
from ragkit.contracts import Embedder
from ragkit.store.documents.sharing import Change, Shares
from ragkit.store.open import Database, open_database
from ragkit.testing.corpus import fill, new_document
from ragkit_serve.api.app import create_app
from ragkit_serve.api.services import Services
from tests.databases import Databases

OLD: Final = "The lease ends in March."
NEW: Final = "The lease ends in June."
QUESTION: Final = "When does the lease end?"
NO_MOMENTS: Final[tuple[object, ...]] = (
    "2026-01-31T15:00:00",
    "0000-01-01T00:00:00Z",
    "2026-02-30T00:00:00Z",
    "2026-01-31",
    "2026-01-31T00:00:00Z\0",
    "yesterday",
    "",
    "20260131",
    0,
    True,
    [],
)


@dataclass(frozen=True)
class Site:
    """Documents of which a first version was kept: a lease, and one that only hr may read."""

    database: Database
    app: Any
    lease: int
    secret: int
    before: datetime  # when the first versions were current

    def client(
        self, *scopes: str, tenant: str = "default", groups: tuple[str, ...] = (), **options: Any
    ) -> TestClient:
        made = keys.create(
            self.database,
            name="k",
            tenant=tenant,
            principal="ada",
            scopes=scopes or ("read", "write"),
            groups=groups,
            **options,
        )
        headers = {"Authorization": f"Bearer {made.secret}"}
        base = "http://127.0.0.1:8080"
        return TestClient(self.app, base, headers=headers, raise_server_exceptions=False)


@pytest.fixture(scope="module")
def site(databases: Databases, loaded_embedder: Embedder) -> Iterator[Site]:
    with databases.take() as url:
        yield from _site(url, loaded_embedder)


def _site(url: str, loaded_embedder: Embedder) -> Iterator[Site]:
    address = SecretStr(url)
    settings = Settings(database_url=address, serve_key_rate=100_000, keep_versions=3)
    with open_database(settings) as database:
        store = database.store("default")
        for text in (OLD, NEW):
            before = datetime.now(UTC)
            lease, secret = fill(
                store,
                loaded_embedder,
                [new_document("lease.md", text, title="Lease"), new_document("hr.md", text)],
            )
        Shares(database.pool, "default").document(secret.id, Change(add=("group:hr",)))
        library = Library(settings, database)
        library.embedder = library.embedders.default = loaded_embedder
        app = create_app(Services(settings, database, library))
        yield Site(database, app, lease.id, secret.id, before)


def ask(client: TestClient, **options: Any) -> Any:
    messages = [{"role": "user", "content": QUESTION}]
    options = {"refusal_threshold": 0, "filter": {"eq": {"uri": "lease.md"}}} | options
    body = {"model": "ragkit", "messages": messages, "ragkit": options}
    return client.post("/v1/chat/completions", json=body)


def test_answers_of_then_cite_what_was_said_then(site: Site) -> None:
    client, then = site.client(), site.before.isoformat()
    for options, said in (({"as_of": then}, OLD), ({}, NEW), ({"as_of": "2999-01-01Z"}, None)):
        answer = ask(client, **options)
        if said is None:
            assert answer.status_code == 400
            continue
        message = answer.json()["choices"][0]["message"]
        assert message["content"] == f"{said} [1]"
        (cited,) = message["context"]["citations"]
        text = client.get(f"/v1/documents/{cited['document']}/text").json()["text"]
        assert (text, cited["verdict"]) == (said, "verified")
    assert cited["document"] == site.lease
    later = ask(client, as_of="2999-01-01T00:00:00Z").json()["choices"][0]["message"]["content"]
    assert later == f"{NEW} [1]"
    nothing = ask(client, as_of="1999-01-01T00:00:00Z")
    assert nothing.status_code == 404
    assert "nothing from 1999" in nothing.json()["error"]["message"]


@pytest.mark.parametrize("moment", NO_MOMENTS, ids=repr)
def test_what_is_no_moment_is_refused(site: Site, moment: object) -> None:
    client = site.client()
    found = client.post("/v1/search", json={"query": "lease", "as_of": moment})
    for answer, param in ((found, "as_of"), (ask(client, as_of=moment), "ragkit.as_of")):
        assert answer.status_code == 400, answer.text
        assert answer.json()["error"]["param"] == param


def test_who_may_not_read_is_told_nothing_of_versions(site: Site) -> None:
    path = f"/v1/documents/{site.secret}/versions"
    absent = "/v1/documents/999999/versions"
    for client in (
        site.client(),
        site.client(tenant="other"),
        site.client("read", "write", groups=("hr",), collections=["elsewhere"]),
    ):
        hidden, none = client.get(path), client.get(absent)
        assert (hidden.status_code, none.status_code) == (404, 404)
        assert hidden.text == none.text.replace("999999", str(site.secret))
        assert client.post(f"{path}/1/restore").status_code == 404
    member = site.client("read", groups=("hr",))
    assert [one["version"] for one in member.get(path).json()["data"]] == [2, 1]
    assert member.post(f"{path}/1/restore").status_code == 403
    assert TestClient(site.app, "http://127.0.0.1:8080").get(path).status_code == 401
    assert site.client("write", groups=("hr",)).get(path).status_code == 403


def test_a_version_is_taken_back_as_a_new_one(site: Site) -> None:
    client = site.client()
    path = f"/v1/documents/{site.lease}/versions"
    now, old = client.get(path).json()["data"]
    assert (now["version"], now["document"], now["to"]) == (2, site.lease, None)
    assert (old["version"], old["to"], old["title"]) == (1, now["since"], "Lease")
    assert client.get(f"/v1/documents/{old['document']}/versions").json()["data"] == [now, old]
    for version, status in ((2, 404), (7, 404), (0, 400), (2**31, 400), ("one", 400)):
        answer = client.post(f"{path}/{version}/restore")
        assert answer.status_code == status, answer.text
        assert "\n" not in answer.json()["error"]["message"]
    assert client.post(f"/v1/documents/{old['document']}/versions/1/restore").status_code == 404
    made = client.post(f"{path}/1/restore").json()
    assert (made["object"], made["id"], made["version"]) == ("document", site.lease, 3)
    assert client.get(f"/v1/documents/{site.lease}/text").json()["text"] == OLD
    assert ask(client).json()["choices"][0]["message"]["content"] == f"{OLD} [1]"
    assert [one["version"] for one in client.get(path).json()["data"]] == [3, 2, 1]
