"""`ragkit serve` as a program: its processes, its port, its end."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest
from pydantic import SecretStr

from ragkit import Settings, keys
from ragkit.store.open import open_database
from ragkit_serve import supervise
from ragkit_serve.stub import Reply, StubServer
from ragkit_serve.supervise import Process
from tests import commands

QUESTION = "When does the garage open?"


@contextmanager
def program(database: str, folder: Path, *options: str, **environment: str) -> Iterator[Program]:
    command = [sys.executable, "-m", "ragkit", "serve", "--port", "0", *options]
    variables = os.environ | {"RAGKIT_DATABASE_URL": database} | environment
    log = (folder / "log").open("wb")
    child = subprocess.Popen(
        command, env=variables, cwd=folder, stdout=subprocess.PIPE, stderr=log, text=True
    )
    try:
        yield Program(child, folder / "log")
    finally:
        if child.poll() is None:
            child.kill()
        child.wait()
        assert child.stdout is not None
        child.stdout.close()
        log.close()


class Program:
    """A running `ragkit serve`."""

    def __init__(self, child: subprocess.Popen[str], log: Path) -> None:
        self.child = child
        self.log = log

    def url(self) -> str:
        """Wait for the line that says where it is."""
        assert self.child.stdout is not None
        line = self.child.stdout.readline()
        assert "http://127.0.0.1:" in line, self.log.read_text()
        return line.split()[line.split().index("at") + 1]

    def children(self) -> list[int]:
        path = Path(f"/proc/{self.child.pid}/task/{self.child.pid}/children")
        return [int(pid) for pid in path.read_text().split()]


def gone(pid: int) -> bool:
    """Tell whether a process has ended, whoever is to bury it."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except (FileNotFoundError, ProcessLookupError):
        return True


def wait_for(what: str, holds: object, seconds: float = 60.0) -> None:
    deadline = time.monotonic() + seconds
    while not holds():  # type: ignore[operator]
        assert time.monotonic() < deadline, what
        time.sleep(0.05)


@pytest.mark.long
def test_it_serves_takes_uploads_in_and_ends_with_everything(
    fresh_database: str, tmp_path: Path
) -> None:
    """Two processes that answer on one port, and one that takes uploads in."""
    with (
        StubServer(lambda messages: Reply("word " * 2000, delay_s=0.05)) as stub,
        program(
            fresh_database,
            tmp_path,
            *("--workers", "2", "--no-page"),
            RAGKIT_LLM_URL=stub.url,
            RAGKIT_LLM_MODEL="stub",
            RAGKIT_SERVE_GRACE_S="0.5",
        ) as running,
    ):
        url = running.url()
        children = running.children()
        assert len(children) == 3
        check_figures(url)
        with httpx.Client(base_url=url, timeout=60) as client:
            check_upload(client)
            body = {"model": "ragkit", "messages": [{"role": "user", "content": QUESTION}]}
            sent = body | {"stream": True}
            with client.stream("POST", "/v1/chat/completions", json=sent) as answer:
                pieces = answer.iter_text()
                text = next(pieces)
                running.child.send_signal(signal.SIGTERM)
                text += "".join(pieces)
        assert '"code":"draining"' in text.replace(": ", ":")
        assert running.child.wait(60) == 0
        assert all(gone(pid) for pid in children)


def check_figures(url: str) -> None:
    """Each process has the API, and they add their figures up."""
    for _ in range(40):  # each on a connection of its own, which either may take
        assert httpx.get(f"{url}/v1/models", timeout=60).status_code == 200
    text = httpx.get(f"{url}/metrics", timeout=60).text
    line = 'ragkit_requests_total{method="GET",route="/v1/models",status="200"} 40.0'
    assert line in text


def check_upload(client: httpx.Client) -> None:
    """What is uploaded is taken in and found."""
    sent = {"file": ("garage.txt", b"The garage opens at six in the morning.")}
    assert client.post("/v1/collections", json={"id": "default"}).status_code == 201
    job = client.post("/v1/collections/default/documents", files=sent).json()["data"][0]
    wait_for(
        "the upload is not searchable",
        lambda: client.get(f"/v1/jobs/{job['id']}").json()["state"] == "done",
    )
    found = client.post("/v1/search", json={"query": QUESTION})
    assert "six in the morning" in found.text


@pytest.mark.long
def test_a_process_that_dies_is_started_again_and_none_outlives_the_program(
    fresh_database: str, tmp_path: Path
) -> None:
    with program(fresh_database, tmp_path, "--no-page", "--no-worker") as running:
        url = running.url()
        (first,) = running.children()
        os.kill(first, signal.SIGKILL)
        wait_for("it was not started again", lambda: running.children() not in ([], [first]))
        wait_for("it does not answer", lambda: answers(url))
        (second,) = running.children()
        running.child.kill()
        wait_for("a child outlives its parent", lambda: gone(second))


@pytest.mark.parametrize("settled_s", [0.0, 60.0])
def test_what_ends_soon_after_its_starts_is_given_up_and_what_lived_long_is_not(
    settled_s: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(supervise, "SETTLED_S", settled_s)
    process = Process("the worker", [sys.executable, "-c", "raise SystemExit(4)"])

    def end_again() -> None:
        process.again_at = 0.0  # without the rest
        process.look()
        assert process.running is not None
        process.running.wait()
        process.look()

    for _ in range(supervise.MOST_FAILED_STARTS - 1):
        end_again()
    if settled_s:
        with pytest.raises(supervise.ServeError, match=r"the worker ended 3 times.*exit code 4"):
            end_again()
    else:
        end_again()
        assert process.again_at > time.monotonic()  # it rests before its next start


def answers(url: str) -> bool:
    try:
        return httpx.get(f"{url}/readyz", timeout=60).status_code == 200
    except httpx.TransportError:
        return False


@pytest.fixture
def failed(
    fresh_database: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[..., tuple[int, str]]:
    """Run a command that ends before it has started a process; return its code and last words."""

    def start(process: Process) -> None:
        raise AssertionError(f"{process.name} was started")

    monkeypatch.setattr(Process, "start", start)
    for name in ("HOST", "PORT"):  # which the command sets for its processes
        monkeypatch.setenv(f"RAGKIT_SERVE_{name}", "")

    def run(*options: str, **environment: str) -> tuple[int, str]:
        variables = {"RAGKIT_DATABASE_URL": fresh_database} | environment
        words = ["serve", "--port", "0", *options]
        done = commands.run(*words, folder=tmp_path, environment=variables)
        return done.returncode, done.stderr

    return run


def test_what_cannot_be_is_said_in_one_line(failed: Callable[..., tuple[int, str]]) -> None:
    code, said = failed("--host", "0.0.0.0")
    assert (code, said.count("\n")) == (2, 1)
    assert "no access key yet" in said
    code, said = failed("--host", "203.0.113.7")
    assert (code, said.count("\n")) == (2, 1)
    assert "cannot be listened on" in said
    code, said = failed(RAGKIT_OIDC_ISSUER="https://id.example")
    assert (code, said.count("\n")) == (2, 1)
    assert "oidc_client_id" in said


def test_nobody_is_let_in_from_other_machines_without_a_key(
    fresh_database: str, failed: Callable[..., tuple[int, str]]
) -> None:
    with open_database(Settings(database_url=SecretStr(fresh_database))) as database:
        keys.create(database, name="first")
    code, said = failed("--host", "0.0.0.0", RAGKIT_SERVE_AUTH="none")
    assert (code, "would let everybody in" in said) == (2, True)
