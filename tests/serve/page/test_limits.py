"""The limits of a key and the audit hold for everything that the page does, on whichever route."""

from __future__ import annotations

import json
import logging
import re
import uuid
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Final

import pytest
from fastapi import FastAPI
from starlette.testclient import TestClient

from ragkit.access import keys
from ragkit.access.library import Caller
from ragkit.store.people.conversations import StoredTurn
from ragkit.types import Citation
from ragkit_serve.api.app import create_app
from ragkit_serve.api.services import Services
from ragkit_serve.page import routes

NOBODY: Final = uuid.UUID(int=7)  # the same in every process that collects tests
FILE: Final = {"file": ("a.md", b"# A\n\nText.")}
# What the page's scripts ask for: a pattern of the address as they write it, and a request of it.
ACTIONS: Final[tuple[tuple[str, str, str, dict[str, Any]], ...]] = (
    ("/ui/ask", "POST", "/ui/ask", {"json": {"question": "holiday"}}),
    ("/ui/me", "GET", "/ui/me", {}),
    ("/ui/models", "GET", "/ui/models", {}),
    ("/ui/passages/", "GET", "/ui/passages/1?version=1&start=0&end=1", {}),
    ("/ui/documents/", "GET", "/ui/documents/default", {}),
    ("/ui/notice/", "GET", "/ui/notice/default", {}),
    ("/ui/suggestions/", "GET", "/ui/suggestions/default", {}),
    ("/ui/conversations/", "GET", f"/ui/conversations/{NOBODY}", {}),
    ("/ui/sources/", "GET", f"/ui/sources/{NOBODY}/1/1", {}),
    ("/v1/search", "POST", "/v1/search", {"json": {"query": "holiday"}}),
    ("/v1/collections?", "GET", "/v1/collections?limit=100", {}),
    ("/v1/collections", "POST", "/v1/collections", {"json": {}}),
    ("/v1/collections/", "GET", "/v1/collections/default", {}),
    ("/v1/collections/", "PATCH", "/v1/collections/default", {"json": {"id": "a"}}),
    ("/v1/collections/", "DELETE", "/v1/collections/default", {}),
    ("/v1/collections/", "POST", "/v1/collections/default/documents", {"files": FILE}),
    ("/v1/documents/", "GET", "/v1/documents/1/text", {}),
    ("/v1/documents/", "DELETE", "/v1/documents/999", {}),
    ("/v1/jobs?", "GET", "/v1/jobs?limit=100&after=9", {}),
    ("/v1/jobs/", "DELETE", "/v1/jobs/999", {}),
    ("/v1/conversations?", "GET", "/v1/conversations?limit=100", {}),
    ("/v1/conversations/", "PATCH", f"/v1/conversations/{NOBODY}", {"json": {"title": "a"}}),
    ("/v1/conversations/", "DELETE", f"/v1/conversations/{NOBODY}", {}),
    ("/v1/conversations/", "GET", f"/v1/conversations/{NOBODY}/export?format=json", {}),
    ("/v1/feedback", "POST", "/v1/feedback", {"json": {}}),
    ("/logout", "POST", "/logout", {}),
)
# Without those that need a model or a log-in to get any further.
COUNTED: Final = [action for action in ACTIONS if action[0] not in {"/ui/ask", "/logout"}]
HOLDING: Final = [action for action in ACTIONS if action[0] in {"/ui/ask", "/v1/search"}]
FREE: Final = ("/", "/theme.css", "/ui/static/ragkit.js", "/ui/static/ragkit.css", "/livez")
RATE: Final = 3
SECRETS: Final[dict[int, str]] = {}  # of the keys that these tests make


@pytest.fixture
def caller(services: Services) -> Iterator[Caller]:
    """Ann, who signs in with a key that reads and writes."""
    key = keys.create(services.database, name="page", principal="ann", scopes=("read", "write"))
    SECRETS[key.access.id] = key.secret
    yield Caller("default", "ann", key=key.access.id, scopes=("read", "write"))
    keys.revoke(services.database, key.access.id)


@pytest.fixture(scope="module")
def limited(services: Services) -> FastAPI:
    """The app; limits hold for each key, and each test has a key of its own."""
    return with_settings(services, {"serve_key_rate": RATE, "serve_key_concurrency": 2})


def with_settings(services: Services, wanted: dict[str, Any]) -> FastAPI:
    settings = services.settings.model_copy(update=wanted)
    return create_app(Services(settings, services.database, services.library), ui=True)


@pytest.fixture
def page(
    services: Services, limited: FastAPI, caller: Caller, request: pytest.FixtureRequest
) -> TestClient:
    """Ann's page; her key may ask RATE times a minute, or as the test's settings say."""
    wanted = getattr(request, "param", None)
    app = limited if wanted is None else with_settings(services, wanted)
    assert caller.key is not None
    headers = {"authorization": f"Bearer {SECRETS[caller.key]}"}
    return TestClient(app, "http://127.0.0.1", headers=headers)


def test_the_table_has_every_address_that_the_scripts_ask_for() -> None:
    scripts = "\n".join(path.read_text() for path in Path(routes.FOLDER).glob("*.js"))
    asked = set(re.findall(r"[\"`](/(?:v1|ui|gradio_api|logout)\b[\w/]*\??)", scripts))
    assert len(asked) > 10
    assert asked == {address for address, *_ in ACTIONS}


@pytest.mark.parametrize(
    ("method", "path", "body"), [pytest.param(*one[1:], id=f"{one[1]} {one[2]}") for one in ACTIONS]
)
def test_every_action_of_the_page_counts_and_is_refused_over_the_rate(
    page: TestClient, method: str, path: str, body: dict[str, Any]
) -> None:
    assert page.get("/ui/me").status_code == 200
    assert 429 in [page.get("/ui/me").status_code for _ in range(2 * RATE)]
    # Where a minute begins meanwhile, one more is let in.
    answer = min(
        (page.request(method, path, **body) for _ in range(2)),
        key=lambda one: one.status_code != 429,
    )
    assert answer.status_code == 429
    assert answer.json()["error"]["code"] == "rate_limit_exceeded"
    assert int(answer.headers["retry-after"]) >= 1
    for free in FREE:
        assert page.get(free).status_code == 200, "the page itself can still be opened"


@pytest.mark.parametrize(
    ("method", "path", "body"), [pytest.param(*one[1:], id=f"{one[1]} {one[2]}") for one in COUNTED]
)
def test_every_action_of_the_page_uses_the_rate_up(
    page: TestClient, method: str, path: str, body: dict[str, Any]
) -> None:
    for _ in range(RATE):
        assert page.request(method, path, **body).status_code != 429
    assert 429 in [page.get("/v1/models").status_code for _ in range(2)]


@pytest.mark.parametrize(
    ("method", "path", "body"), [pytest.param(*one[1:], id=one[2]) for one in HOLDING]
)
def test_what_a_model_works_for_is_refused_over_the_concurrency(
    page: TestClient, caller: Caller, method: str, path: str, body: dict[str, Any]
) -> None:
    state = page.app.state.ragkit  # type: ignore[attr-defined]
    with ExitStack() as running:
        for _ in range(2):
            running.enter_context(state.quota.question(caller))
        answer = page.request(method, path, **body)
        assert answer.status_code == 429
        assert answer.json()["error"]["code"] == "concurrency"


@pytest.mark.parametrize(
    "page", [{"serve_audit": "metadata"}, {"serve_audit": "texts"}], indirect=True
)
def test_what_the_page_does_is_audited(
    page: TestClient, services: Services, caller: Caller, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "ragkit.audit")
    conversations = services.library.conversations(caller)
    number, token = uuid.uuid4(), uuid.uuid4()
    conversations.begin(number, token, new=("manuals", "A title"))
    document = page.get("/ui/documents/manuals").json()["documents"][0]["id"]
    cited = (Citation(1, document, "manual.md", "Pump", None, 0, 8, "The pump"),)
    conversations.finish(
        number, token, StoredTurn("Q?", "Q?", "A [1].", False, "", citations=cited)
    )
    done = [
        page.get(f"/ui/conversations/{number}"),
        page.get(f"/ui/sources/{number}/1/1"),
        page.post("/v1/search", json={"query": "pump canary", "collection": "manuals"}),
        page.post("/v1/collections/manuals/documents", files=FILE),
    ]
    assert [answer.status_code for answer in done] == [200, 200, 200, 202]
    fields = [getattr(record, "fields") for record in caplog.records]  # noqa: B009
    assert [(one["action"], one["principal"], one["collection"]) for one in fields] == [
        (action, "ann", "manuals") for action in ("read", "read", "search", "upload")
    ]
    texts = "canary" in json.dumps(fields, default=str)
    wanted = page.app.state.services.settings.serve_audit  # type: ignore[attr-defined]
    assert texts == (wanted == "texts")
