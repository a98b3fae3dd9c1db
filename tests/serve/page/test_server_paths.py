"""Nothing that a client sends makes the page read a file of the server or fetch an address.

Bodies in which Gradio would see a file are posted to every event and every address of Gradio's app.
"""

from __future__ import annotations

import http.server
import json
import os
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import pytest
from fastapi import FastAPI
from starlette.testclient import TestClient

from ragkit.access import keys
from ragkit.store.jobs.uploads import UploadJobs
from ragkit_serve.api.app import create_app
from ragkit_serve.api.services import Services

SECRET: Final = "the-secret-of-a-server-file"
EVENTS: Final = (*range(20), None, -1)  # more than a page has ever had
ADDRESSES: Final = (
    *("run/predict", "run/predict/", "api/predict", "call/predict", "call/v2/predict"),
    *("queue/join", "upload", "component_server", "reset", "stream/a", "run/a", "cancel"),
)


@dataclass
class Place:
    """Files and an address that no answer may show."""

    folder: Path
    url: str
    requests: list[str] = field(default_factory=list)

    def paths(self) -> list[str]:
        secret = str(self.folder / "secret.md")
        upload = str(self.folder / "uploads" / "ab" / "secret.md")
        return [
            *(secret, upload, f"file://{secret}", f"/gradio_api/file={secret}"),
            *(os.path.relpath(secret), f"{self.folder}/uploads/../secret.md", self.url),
            *("/etc/passwd", "/proc/self/cwd/ragkit.toml", "/proc/self/environ", "/dev/zero"),
        ]


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    """A file of another tenant, one among uploads, and a listener that writes down who calls."""
    for file in (tmp_path / "secret.md", tmp_path / "uploads" / "ab" / "secret.md"):
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"# Key\n\n{SECRET}\n")
    requests: list[str] = []

    class Listener(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            requests.append(self.path)
            self.send_error(404)

        do_HEAD = do_POST = do_GET

        def log_message(self, *_: Any) -> None:
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Listener) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield Place(tmp_path, f"http://127.0.0.1:{server.server_port}/secret.md", requests)
        server.shutdown()
        thread.join(60)


def files(path: str) -> Iterator[Any]:
    """Write a path in each way in which Gradio may take it for a file."""
    for kind in ("gradio.FileData", "gradio.ImageData", ""):
        yield {"path": path, "meta": {"_type": kind}, "orig_name": "a.md"}
    yield {"url": path, "meta": {"_type": "gradio.FileData"}}
    yield {"path": path, "url": path, "is_stream": True, "meta": {"_type": "gradio.FileData"}}
    yield {"path": path}
    yield {"name": path, "is_file": True, "data": None}


def bodies(path: str) -> Iterator[dict[str, Any]]:
    """Put a path at each place of an event's body."""
    for file in files(path):
        for value in (file, [file], [[file]], {"value": file}):
            yield {"data": [value, "default", "[]"], "session_hash": "a"}
        yield {"data": [None, file, "[]"], "session_hash": "a"}
        row = {"index": [0, 0], "value": file, "row_value": [file]}
        yield {"data": [], "session_hash": "a", "event_data": row, "trigger_id": 1}
        yield {"data": [[file]], "batched": True, "session_hash": "a"}
        yield {"data": [[file], "default", "[]"], "session_hash": {"path": path}}
        yield {"data": [[file], "default", "[]"], "trigger_id": file, "event_id": "a"}
        yield {"component_id": 1, "fn_name": "ls", "data": [file], "session_hash": "a"}
    yield {"data": [path, "default", "[]"], "session_hash": "a"}
    yield {"data": [[path], "default", "[]"], "session_hash": "a"}


@pytest.fixture(scope="module")
def app(services: Services) -> FastAPI:
    settings = services.settings.model_copy(update={"serve_key_rate": 1_000_000})
    return create_app(Services(settings, services.database, services.library), ui=True)


@pytest.fixture(params=["read", "write"])
def client(
    request: pytest.FixtureRequest, services: Services, app: FastAPI
) -> Iterator[TestClient]:
    """A client of the page whose key has this scope."""
    scopes = ("read",) if request.param == "read" else ("read", "write")
    key = keys.create(services.database, name="page", scopes=scopes)
    headers = {"authorization": f"Bearer {key.secret}", "x-scopes": request.param}
    try:
        yield TestClient(app, "http://127.0.0.1", headers=headers, raise_server_exceptions=False)
    finally:
        keys.revoke(services.database, key.access.id)


def jobs(services: Services) -> list[int]:
    return [job.id for job in UploadJobs(services.database.pool, "default").page(limit=100)]


@pytest.mark.long
def test_no_event_takes_a_file_of_the_server(
    client: TestClient, services: Services, place: Place
) -> None:
    before = jobs(services)
    first = place.paths()[0] if "write" in client.headers["x-scopes"] else ""
    for path in place.paths():
        for number, body in enumerate(bodies(path)):
            # Who may write meets every event with every body for the first path; else one each.
            events = EVENTS if path == first else (EVENTS[number % len(EVENTS)],)
            for event in events:
                answer = client.post("/gradio_api/run/predict", json=body | {"fn_index": event})
                assert 400 <= answer.status_code < 500, (event, body, answer.text[:200])
                assert SECRET not in answer.text
                assert "root:" not in answer.text
    assert jobs(services) == before
    assert place.requests == []
    assert (place.folder / "uploads" / "ab" / "secret.md").exists(), "it was not taken either"


@pytest.mark.parametrize("address", ADDRESSES)
def test_no_address_of_gradio_takes_a_body(
    client: TestClient, services: Services, place: Place, address: str
) -> None:
    before = jobs(services)
    path = place.paths()[0]
    sent: list[dict[str, Any]] = [
        *({"json": body | {"fn_index": 0}} for body in bodies(path)),
        {"files": {"files": ("secret.md", SECRET)}},
        {"content": json.dumps({"data": [path]}).encode()},
        {"content": b"[" * 100_000, "headers": {"content-type": "application/json"}},
    ]
    for method in ("POST", "PUT", "PATCH", "DELETE"):
        for one in sent if method == "POST" else sent[-3:]:
            answer = client.request(method, f"/gradio_api/{address}", **one)
            assert 400 <= answer.status_code < 500, (method, one, answer.text[:200])
            assert SECRET not in answer.text
    assert jobs(services) == before
    assert place.requests == []


@pytest.mark.parametrize(
    "query", ["file={}", "file/{}", "proxy={}", "stream/a/b/{}", "custom_component/{}", "a?path={}"]
)
def test_no_address_of_gradio_shows_a_file(client: TestClient, place: Place, query: str) -> None:
    for path in place.paths():
        for before in ("/gradio_api/", "/", "/static/", "/assets/"):
            answer = client.get(before + query.format(path))
            assert 400 <= answer.status_code < 500, (before, path)
            assert SECRET not in answer.text
    assert place.requests == []
