"""The Model Context Protocol over HTTP: whose documents, and the bounds of the API around it."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import anyio
import httpx
import httpx2  # what the protocol's client speaks through
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from pydantic import SecretStr

from ragkit import Settings
from ragkit.access import keys
from ragkit.access.library import Library
from ragkit.contracts import Embedder
from ragkit.store.open import Database, open_database
from ragkit.testing.corpus import CORPUS, fill, new_document
from ragkit_serve.mcp.http import http_app
from tests.commands import run
from tests.databases import Databases
from tests.serve.api.conftest import running

SECRET = new_document("secret.md", "The vault of the other tenant opens with 4711.", title="Vault")
LIST = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
TYPES = {"accept": "application/json, text/event-stream"}


@pytest.fixture(scope="module")
def url(databases: Databases) -> Iterator[str]:
    with databases.take() as url:
        yield url


@pytest.fixture(scope="module")
def database(url: str, loaded_embedder: Embedder) -> Iterator[Database]:
    """A database for all tests here."""
    with open_database(Settings(database_url=SecretStr(url))) as database:
        fill(database.store("default"), loaded_embedder, CORPUS)
        fill(database.store("other"), loaded_embedder, [SECRET])
        yield database


@pytest.fixture
def http(database: Database, url: str) -> Iterator[str]:
    """The address of a server over HTTP, as a user starts it."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "ragkit", "mcp", "--http", f"127.0.0.1:{port}"]
    environment = os.environ | {"RAGKIT_DATABASE_URL": url}
    with subprocess.Popen(command, env=environment, stderr=subprocess.PIPE) as process:
        try:
            deadline = time.monotonic() + 60
            while time.monotonic() < deadline and process.poll() is None:
                with socket.socket() as probe:
                    if probe.connect_ex(("127.0.0.1", port)) == 0:
                        break
                time.sleep(0.05)
            yield f"http://127.0.0.1:{port}/mcp"
        finally:
            process.terminate()
            process.wait(20)


@pytest.mark.long
def test_over_http_the_key_says_whose_documents(database: Database, http: str) -> None:
    mine = keys.create(database, name="mine", tenant="default", principal="me", scopes=["read"])
    theirs = keys.create(database, name="theirs", tenant="other", principal="you", scopes=["read"])

    async def search(key: str) -> str:
        headers = {"Authorization": f"Bearer {key}"}
        async with httpx2.AsyncClient(headers=headers, timeout=60) as session:
            transport = streamable_http_client(http, http_client=session)
            async with Client(transport) as client:
                return str((await client.call_tool("search", {"query": "vault"})).content)

    assert "4711" in anyio.run(search, theirs.secret)
    assert "4711" not in anyio.run(search, mine.secret)
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
    keys.revoke(database, mine.access.id)
    for key in ("", "Bearer", "Bearer rk_wrong", f"Bearer {mine.secret}"):
        answer = httpx.post(http, json=body, headers={"Authorization": key} if key else {})
        assert answer.status_code == 401, key
        assert "hits" not in answer.text


@pytest.fixture
def served(database: Database, loaded_embedder: Embedder) -> Iterator[str]:
    """The address of a server in this process."""
    settings = Settings()
    library = Library(settings, database)
    library.embedder = library.embedders.default = loaded_embedder
    with running(http_app(library, database, settings, "127.0.0.1")) as live:
        yield live.url


@pytest.fixture
def key(database: Database) -> str:
    return keys.create(database, name="mine", scopes=["read"]).secret


def listed(served: str, secret: str | None, **headers: str) -> int:
    if secret is not None:
        headers["authorization"] = f"Bearer {secret}"
    return httpx.post(f"{served}/mcp", json=LIST, headers=TYPES | headers, timeout=30).status_code


def raw(served: str, sent: bytes) -> bytes:
    """Send bytes as they are and return all that is answered until the server hangs up."""
    address = httpx.URL(served)
    answer = b""
    with socket.create_connection((address.host, address.port or 80), 60) as conn:
        conn.sendall(sent)
        while piece := conn.recv(65536):
            answer += piece
    return answer


def test_wrong_keys_are_limited_and_refuse_no_valid_one(served: str, key: str) -> None:
    answers = [listed(served, f"rk_{n:064x}") for n in range(70)]
    assert answers[:60] == [401] * 60
    assert 429 in answers
    assert listed(served, key) == 200
    assert listed(served, None) == 401


def test_a_key_that_may_not_read_gets_in_nowhere(served: str, database: Database) -> None:
    other = keys.create(database, name="writes", scopes=["write", "admin", "metrics"])
    assert listed(served, other.secret) == 403


@pytest.mark.parametrize("path", ["/livez", "/readyz", "/login", "/", "/mcp", "/nowhere"])
def test_nothing_is_open_without_a_key(served: str, path: str) -> None:
    assert httpx.get(served + path).status_code == 401
    assert httpx.post(served + path, json=LIST).status_code == 401


def test_strange_hosts_and_origins_are_refused(served: str, key: str) -> None:
    assert listed(served, key, host="evil@127.0.0.1") == 421
    assert listed(served, key, host="evil.example") == 421
    assert listed(served, key, origin="https://evil.example") == 403
    assert listed(served, key, origin=served.replace("http://", "https://")) == 403
    assert listed(served, key, origin=served) == 200


@pytest.mark.parametrize(
    "sent", [b"", b"POST /mcp HT", b"POST /mcp HTTP/1.1\r\nHost: localhost\r\n"]
)
def test_half_a_head_is_hung_up_on(
    served: str, monkeypatch: pytest.MonkeyPatch, sent: bytes
) -> None:
    monkeypatch.setattr("ragkit_serve.web.connections.LONGEST_HEAD_S", 0.3)
    assert raw(served, sent) == b""


@pytest.mark.parametrize("with_key", [True, False])
def test_a_body_that_stops_coming_is_given_up(
    served: str, key: str, monkeypatch: pytest.MonkeyPatch, with_key: bool
) -> None:
    monkeypatch.setattr("ragkit_serve.api.bodies.LONGEST_SILENCE_S", 0.3)
    monkeypatch.setattr("ragkit_serve.web.connections.LINGER_S", 0.3)
    bearer = f"Authorization: Bearer {key}\r\n" if with_key else ""
    head = (
        f"POST /mcp HTTP/1.1\r\nHost: localhost\r\n{bearer}Content-Type: application/json\r\n"
        "Accept: application/json, text/event-stream\r\nContent-Length: 500\r\n\r\n{"
    )
    status = int(raw(served, head.encode()).split()[1])
    assert status == (408 if with_key else 401)


def test_a_large_body_is_refused(served: str, key: str) -> None:
    headers = TYPES | {"authorization": f"Bearer {key}", "content-type": "application/json"}
    for content in (b"a" * 300_000, (b"a" * 65536 for _ in range(100))):
        answer = httpx.post(f"{served}/mcp", content=content, headers=headers)
        assert answer.status_code == 413


def test_connections_are_counted(served: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ragkit_serve.web.connections.max_connections", lambda: 0)
    assert raw(served, b"") == b""


@pytest.mark.parametrize(
    ("address", "reason"),
    [("8765", "is no address"), ("0.0.0.0:8765", "not a loopback address")],
)
def test_a_wrong_address_is_one_line(url: str, tmp_path: Path, address: str, reason: str) -> None:
    result = run(
        *("mcp", "--http", address), folder=tmp_path, environment={"RAGKIT_DATABASE_URL": url}
    )
    assert result.returncode == 2
    (line,) = result.stderr.splitlines()
    assert reason in line
