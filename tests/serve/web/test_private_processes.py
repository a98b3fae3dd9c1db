"""What the processes of `ragkit serve` show and tell: no secret in `ps`, nothing sent elsewhere."""

from __future__ import annotations

import ipaddress
import json
from pathlib import Path

import httpx
import pytest
from pydantic import SecretStr

from ragkit import Settings
from ragkit.access import keys
from ragkit.store.open import open_database
from ragkit.testing.stub_server.server import StubServer
from tests.serve.web.test_supervise import check_upload, program

pytestmark = pytest.mark.long

CANARY = "canary-4711"
# Imported by every Python process that finds it: it writes down where sockets go.
SPY = """
import json, os, sys
_SEEN = os.open({path!r}, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
def _hook(event, arguments):
    if event in ("socket.connect", "socket.getaddrinfo", "socket.gethostbyname"):
        target = arguments[1] if event == "socket.connect" else arguments[0]
        os.write(_SEEN, (json.dumps([event, sys.argv[:4], str(target)]) + chr(10)).encode())
sys.addaudithook(_hook)
"""


def commands() -> list[str]:
    """Read the command lines of all processes of this machine that can be read."""
    lines = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            lines.append(path.read_bytes().replace(b"\0", b" ").decode("utf-8", "replace"))
        except OSError:
            continue
    return lines


def is_here(target: str) -> bool:
    """Tell whether an address that a socket connects to, or a name looked up, is this machine."""
    if target.startswith(("/", "b'/", "b'\\x00")):  # a Unix socket
        return True
    host = target.strip("(").split(",")[0].strip("'")
    if host in {"localhost", "None"}:
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def test_a_whole_server_shows_no_secret_and_calls_nobody(
    fresh_database: str, tmp_path: Path
) -> None:
    """The page, a question, a search and an upload, with every secret that a server can have."""
    seen = tmp_path / "seen"
    spy = tmp_path / "spy"
    spy.mkdir()
    (spy / "sitecustomize.py").write_text(SPY.format(path=str(seen)))
    secret = tmp_path / "model-key"
    secret.write_text(f"model-{CANARY}\n")
    with open_database(Settings(database_url=SecretStr(fresh_database))) as database:
        key = keys.create(database, name="all", scopes=["read", "write", "admin"]).secret
    url = fresh_database.replace("postgres@", f"postgres:database-{CANARY}@")
    assert url != fresh_database
    with (
        StubServer(lambda messages: "It opens at six [1].", api_key=f"model-{CANARY}") as stub,
        program(
            url,
            tmp_path,
            RAGKIT_HOME=str(tmp_path / "home"),
            RAGKIT_LLM_URL=stub.url,
            RAGKIT_LLM_MODEL="stub",
            RAGKIT_LLM_API_KEY_FILE=str(secret),
            RAGKIT_KEY=key,
            RAGKIT_OIDC_ISSUER="http://127.0.0.1:1",
            RAGKIT_OIDC_CLIENT_ID="ragkit",
            RAGKIT_OIDC_CLIENT_SECRET=f"oidc-{CANARY}",
            PYTHONPATH=str(spy),
        ) as running,
    ):
        bearer = {"authorization": f"Bearer {key}"}
        with httpx.Client(base_url=running.url(), timeout=60, headers=bearer) as client:
            check_upload(client)
            shown = commands()
            body = {"model": "ragkit", "messages": [{"role": "user", "content": "When?"}]}
            assert client.post("/v1/chat/completions", json=body).status_code == 200
            assert client.get("/").status_code == 200
            shown += commands()
    ours = [line for line in shown if "ragkit" in line]
    assert any("ragkit_serve.web.web" in line for line in ours)
    assert any("ragkit worker" in line for line in ours)
    assert not [line for line in shown if CANARY in line or key in line]
    assert CANARY not in running.log.read_text()
    assert key not in running.log.read_text()
    calls = [json.loads(line) for line in seen.read_text().splitlines()]
    targets = {target for _, _, target in calls}
    port = str(httpx.URL(stub.url).port)
    assert any(port in target for target in targets), "the spy sees nothing"
    assert not [call for call in calls if not is_here(call[2])]


def test_the_spy_knows_here_from_elsewhere() -> None:
    assert all(map(is_here, ["('127.0.0.1', 80)", "('::1', 80, 0, 0)", "/run/s", "localhost"]))
    assert not any(map(is_here, ["('192.0.2.7', 443)", "huggingface.co", "('2001:db8::1', 1)"]))
