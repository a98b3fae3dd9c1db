"""What docker-compose.yml starts, run as processes of this machine behind its own nginx, over TLS.

The commands and the environment are those of the file; ports and the secrets' folder differ.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.commands import Result, run
from tests.databases import Databases
from tests.deploy.test_compose import compose
from tests.deploy.test_nginx import NAME, Proxy, free_port, needs_nginx, proxy

pytestmark = [pytest.mark.long, needs_nginx]
SERVICES = compose({"RAGKIT_SERVER_NAME": NAME})["services"]


def poll(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 300  # two programs start, which takes a busy machine a minute
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.1)


class Stack:
    """serve and worker as the compose file has them, and a client for nginx before them."""

    def __init__(self, folder: Path, database_url: str) -> None:
        self.folder = folder
        self.port = free_port()
        (folder / "secrets").mkdir()
        (folder / "secrets/database_url").write_text(database_url + "\n")
        (folder / "secrets/llm_api_key").write_text("0123456789abcdef\n")
        self.proxy: Proxy | None = None

    def environment(self, name: str) -> dict[str, str]:
        plain = {key: value for key, value in os.environ.items() if not key.startswith("RAGKIT_")}
        given = {
            key: value.replace("/run/secrets", str(self.folder / "secrets"))
            for key, value in SERVICES[name]["environment"].items()
        }
        home = self.folder / name
        home.mkdir(exist_ok=True)
        return plain | given | {"RAGKIT_HOME": str(home), "TMPDIR": str(home)}

    def command(self, words: list[str]) -> list[str]:
        assert words[0] == "ragkit"
        here = {"0.0.0.0": "127.0.0.1", "8080": str(self.port)}
        return [sys.executable, "-m", *(here.get(word, word) for word in words)]

    def start(self, name: str) -> subprocess.Popen[bytes]:
        with (self.folder / f"{name}.log").open("wb") as log:
            return subprocess.Popen(
                self.command(SERVICES[name]["command"]),
                env=self.environment(name),
                cwd=self.folder,
                stdout=log,
                stderr=log,
            )

    def ragkit(self, *words: str) -> Result:
        return run(*words, folder=self.folder, environment=self.environment("serve"))

    def key(self, *scopes: str) -> str:
        chosen = [word for scope in scopes for word in ("--scope", scope)]
        return self.ragkit("keys", "create", "--name", "test", *chosen).stdout.strip()

    def ready(self) -> bool:
        try:
            return httpx.get(f"http://127.0.0.1:{self.port}/readyz").status_code == 200
        except httpx.TransportError:
            return False

    def ask(
        self, method: str, path: str, key: str | None = None, body: object = None
    ) -> tuple[int, Any]:
        assert self.proxy is not None
        headers = {"content-type": "application/json"}
        if key is not None:
            headers["authorization"] = f"Bearer {key}"
        sent = None if body is None else json.dumps(body).encode()
        response, answer = self.proxy.ask(method, path, sent, headers)
        return response.status, json.loads(answer)


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory, databases: Databases) -> Iterator[Stack]:
    """The programs, started once: no test changes what another one looks at."""
    folder = tmp_path_factory.mktemp("stack")
    nginx_folder = folder / "nginx"
    nginx_folder.mkdir()
    processes = []
    with databases.take() as database_url, ExitStack() as running:
        made = Stack(folder, database_url)
        for name in ("serve", "worker"):
            process = made.start(name)
            processes.append(process)
            running.callback(process.wait, 300)
            running.callback(process.send_signal, signal.SIGTERM)
        made.proxy = running.enter_context(proxy(nginx_folder, made.port))
        poll(made.ready)
        poll(lambda: "ready for uploads" in (folder / "worker.log").read_text())
        yield made
    assert [process.returncode for process in processes] == [0, 0]
    logs = [(folder / f"{name}.log").read_text() for name in ("serve", "worker")]
    assert "Traceback" not in "".join(logs)


def test_uploaded_file_is_found_with_a_key_and_nothing_without(stack: Stack) -> None:
    status, answer = stack.ask("GET", "/v1/models")
    assert (status, answer["error"]["code"]) == (401, "invalid_api_key")

    key = stack.key("read", "write")
    status, models = stack.ask("GET", "/v1/models", key)
    assert status == 200
    assert models["object"] == "list"

    assert stack.proxy is not None
    edge = b"edge-of-parts"
    upload = (
        b'--%b\r\nContent-Disposition: form-data; name="file"; filename="leave.md"\r\n'
        b"Content-Type: text/markdown\r\n\r\n"
        b"# Leave\n\nThe depot closes on 24 December.\n\r\n--%b--\r\n"
    ) % (edge, edge)
    response, body = stack.proxy.ask(
        "POST",
        "/v1/collections/default/documents",
        upload,
        {
            "content-type": f"multipart/form-data; boundary={edge.decode()}",
            "authorization": f"Bearer {key}",
        },
    )
    assert response.status == 202, body
    job = json.loads(body)["data"][0]["id"]
    poll(lambda: stack.ask("GET", f"/v1/jobs/{job}", key)[1]["state"] not in {"queued", "running"})
    assert stack.ask("GET", f"/v1/jobs/{job}", key)[1]["state"] == "done"
    status, found = stack.ask("POST", "/v1/search", key, {"query": "When does the depot close?"})
    assert status == 200
    assert "24 December" in json.dumps(found)


def test_prometheus_gets_its_figures_inside_and_nobody_outside(stack: Stack) -> None:
    inside = f"http://127.0.0.1:{stack.port}/metrics"
    host = {"host": "serve:8080"}
    assert httpx.get(inside, headers=host).status_code == 401
    key = stack.key("metrics")
    told = httpx.get(inside, headers={**host, "authorization": f"Bearer {key}"})
    assert told.status_code == 200
    assert "ragkit_requests_total{" in told.text
    status, answer = stack.ask("GET", "/metrics", key)
    assert (status, answer["error"]["code"]) == (404, "not_found")


def test_health_checks_of_the_containers_pass(stack: Stack) -> None:
    check = SERVICES["serve"]["healthcheck"]["test"]
    assert check[:3] == ["CMD", "python", "-c"]
    code = check[3].replace(":8080", f":{stack.port}")
    assert subprocess.run([sys.executable, "-c", code], timeout=120).returncode == 0
    assert stack.ragkit(*SERVICES["worker"]["healthcheck"]["test"][2:]).returncode == 0
