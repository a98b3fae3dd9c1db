"""Clients that hang up: their places stay taken until the work in the threads has ended."""

from __future__ import annotations

import asyncio
import json
import socket
import threading
from collections.abc import Callable, Iterator
from typing import Any

import httpx
import pytest

from ragkit.embed.local import _Loaded
from ragkit.store.connection.identity import _acting
from ragkit.store.documents.browse import Browser
from ragkit.testing.stub_server.server import Reply, StubServer
from ragkit_serve.api.app import GROUPS
from tests.serve.api.conftest import Live, Scripted, Serve
from tests.serve.api.test_load import until

QUESTION = "How many days of paid holiday does an employee have?"
TEXTS = [f"Sentence {n} about the days of leave. " * 20 for n in range(64)]
CHAT = {"model": "ragkit", "messages": [{"role": "user", "content": QUESTION}]}
TOOL = {"type": "function", "function": {"name": "add", "parameters": {"type": "object"}}}
GREEDY = "greedy"
Sent = tuple[str, dict[str, Any]]

# Every route whose work runs in the threads of the places; see the test of that below.
ROUTES: dict[str, Sent] = {
    "search": ("/v1/search", {"query": QUESTION}),
    "rerank": ("/v1/rerank", {"query": QUESTION, "documents": TEXTS}),
    "embeddings": ("/v1/embeddings", {"model": "ragkit", "input": TEXTS}),
    "queries": ("/v1/embeddings", {"model": "ragkit", "input": TEXTS, "kind": "query"}),
    "chat": ("/v1/chat/completions", CHAT),
    "stream": ("/v1/chat/completions", CHAT | {"stream": True}),
    "tools": ("/v1/chat/completions", CHAT | {"tools": [TOOL]}),
    "page": ("/ui/ask", {"question": QUESTION}),
}


class Hold:
    """Holds work in its thread until it is released, and counts it by principal."""

    def __init__(self, only: str | None = None) -> None:
        self.release = threading.Event()
        self.begun = 0
        self.running = self.most = 0
        self._only = only
        self._guard = threading.Lock()

    def __call__(self) -> None:
        if self._only not in {None, _acting.get()[1]}:
            return
        with self._guard:
            self.begun += 1
            self.running += 1
            self.most = max(self.most, self.running)
        assert self.release.wait(60)
        with self._guard:
            self.running -= 1


@pytest.fixture
def hold(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Hold]:
    """Hold each batch of the embedding model, and each look at a document."""
    hold = Hold(getattr(request, "param", None))
    encode, document, documents = _Loaded.encode, Browser.document, Browser.documents

    def held(inner: Callable[..., Any]) -> Callable[..., Any]:
        def work(*given: Any, **named: Any) -> Any:
            hold()
            return inner(*given, **named)

        return work

    monkeypatch.setattr(_Loaded, "encode", held(encode))
    monkeypatch.setattr(Browser, "document", held(document))
    monkeypatch.setattr(Browser, "documents", held(documents))
    yield hold
    hold.release.set()


def hang_up(live: Live, method: str, path: str, body: object, key: str = "") -> socket.socket:
    """Send a request whose answer nobody will wait for; closing the connection hangs up."""
    address = httpx.URL(live.url)
    content = b"" if body is None else json.dumps(body).encode()
    head = [f"{method} {path} HTTP/1.1", "Host: localhost", f"Content-Length: {len(content)}"]
    head += ["Content-Type: application/json"]
    head += [f"Authorization: Bearer {key}"] * bool(key)
    connection = socket.create_connection((address.host, address.port or 80))
    connection.sendall("\r\n".join([*head, "", ""]).encode() + content)
    return connection


def requests(live: Live) -> int:
    """Count the requests that have not ended."""
    return len(live.server.server_state.tasks)


def in_flight(live: Live) -> float:
    value = live.app.state.ragkit.metrics.registry.get_sample_value("ragkit_in_flight")
    assert value is not None
    return float(value)


@pytest.mark.parametrize("name", ROUTES)
def test_a_place_lasts_as_long_as_its_work(
    serve: Serve, scripted: Scripted, hold: Hold, name: str
) -> None:
    path, body = ROUTES[name]
    with serve(ui=name == "page", llm_url=scripted().url, llm_model="stub") as live:
        admission = live.app.state.ragkit.admission
        with hang_up(live, "POST", path, body):
            assert until(lambda: hold.running == 1)
        assert until(lambda: requests(live) == 0)
        assert (admission.running, in_flight(live)) == (1, 1.0)
        hold.release.set()
        assert until(lambda: admission.running == 0)
        assert (hold.running, in_flight(live)) == (0, 0.0)
        assert hold.begun == 1  # of several batches: the others are cancelled


def test_every_route_that_is_a_coroutine_is_tried_or_is_an_upload() -> None:
    """The others are functions, which threads run in turn: see test_turns.py."""
    routes = [route for group in GROUPS for route in group.router.routes]
    coroutines = {
        str(getattr(route, "path", ""))
        for route in routes
        if asyncio.iscoroutinefunction(getattr(route, "endpoint", None))
    }
    uploads = {"/v1/collections/{name}/documents", "/v1/documents/{id}/source"}
    signing_in = {path for path in coroutines if path.startswith(("/login", "/logout"))}
    health = {"/livez", "/readyz"}
    tried = {path for path, _ in ROUTES.values()} - {"/ui/ask"}
    assert coroutines - uploads - signing_in - health == tried


@pytest.mark.parametrize("hold", [GREEDY], indirect=True)
@pytest.mark.parametrize("name", ROUTES)
def test_hanging_up_never_gets_a_key_more_than_its_limit(
    serve: Serve, scripted: Scripted, key: Callable[..., str], hold: Hold, name: str
) -> None:
    """Thirty-six requests hang up; the other tenant's search has its turn meanwhile."""
    path, body = ROUTES[name]
    greedy, other = key("read", principal=GREEDY), key("read", tenant="other")
    settings = {"serve_key_concurrency": 4, "serve_concurrency": 8, "llm_model": "stub"}
    with serve(ui=name == "page", llm_url=scripted().url, **settings) as live:
        admission = live.app.state.ragkit.admission
        for n in range(36):
            with hang_up(live, "POST", path, body, greedy):
                assert until(lambda n=n: hold.begun == min(n + 1, 4))  # type: ignore[misc]
        assert until(lambda: requests(live) == 0)
        found = httpx.post(
            f"{live.url}/v1/search",
            json={"query": "vault of the tenant"},
            headers={"authorization": f"Bearer {other}"},
            timeout=60,
        )
        assert found.json()["data"][0]["uri"].endswith("secret.md")
        assert (hold.most, admission.running, in_flight(live)) == (4, 4, 4.0)
        refused = httpx.post(
            f"{live.url}{path}",
            json=body,
            headers={"authorization": f"Bearer {greedy}"},
            timeout=60,
        )
        assert refused.json()["error"]["code"] == "concurrency"
        hold.release.set()
        assert until(lambda: admission.running == 0)
        assert (hold.begun, in_flight(live)) == (4, 0.0)


@pytest.mark.parametrize("name", ["stream", "chat"])
def test_a_client_that_leaves_a_model_behind_gives_its_place_back_when_that_has_ended(
    serve: Serve, name: str
) -> None:
    """The model is let go at once: nothing of it runs when the place is free."""
    path, body = ROUTES[name]
    with (
        StubServer(lambda messages: Reply("word " * 2000, delay_s=0.05)) as stub,
        serve(llm_url=stub.url, llm_model="stub") as live,
    ):
        with hang_up(live, "POST", path, body):
            assert until(lambda: stub.running == 1)
        assert until(lambda: live.app.state.ragkit.admission.running == 0)
        assert until(lambda: stub.running == 0)
        assert len(stub.disconnects) == 1


def test_draining_waits_for_work_whose_client_has_left(serve: Serve, hold: Hold) -> None:
    path, body = ROUTES["search"]
    with serve(serve_grace_s=60) as live:
        admission = live.app.state.ragkit.admission
        with hang_up(live, "POST", path, body):
            assert until(lambda: hold.running == 1)
        assert until(lambda: requests(live) == 0)
        live.server.handle_exit(15, None)
        assert until(lambda: admission.draining)
        assert httpx.get(f"{live.url}/livez", timeout=60).status_code == 200
        assert live.thread.is_alive()
        hold.release.set()
        live.thread.join(60)
        assert not live.thread.is_alive()


def test_the_grace_time_ends_requests_whose_work_goes_on(serve: Serve, hold: Hold) -> None:
    """Each waits for an answer when the time is over, and gets one; the process does not wait."""
    answers: dict[str, httpx.Response] = {}
    with serve(serve_grace_s=0.2) as live:

        def ask(name: str) -> None:
            path, body = ROUTES[name]
            answers[name] = httpx.post(f"{live.url}{path}", json=body, timeout=60)

        names = ("search", "rerank", "embeddings", "chat", "stream")
        threads = [threading.Thread(target=ask, args=(name,)) for name in names]
        for thread in threads:
            thread.start()
        assert until(lambda: hold.running == len(names))
        live.server.handle_exit(15, None)
        for thread in threads:
            thread.join(60)
        live.thread.join(60)
        assert not live.thread.is_alive()
    assert {answer.status_code for answer in answers.values()} == {503}
    assert {answer.json()["error"]["code"] for answer in answers.values()} == {"draining"}
    assert all(answer.headers["retry-after"] for answer in answers.values())
