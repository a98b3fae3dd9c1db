"""`ragkit serve` as a program: its processes, its port, its end."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path

import httpx
import pytest
from pydantic import SecretStr

from ragkit import Settings
from ragkit.access import keys
from ragkit.store.open import open_database
from ragkit.system import priority
from ragkit.testing.stub_server.server import Reply, StubServer
from ragkit_serve.web import processes, supervise
from ragkit_serve.web.processes import Process, StatusFile
from tests import commands
from tests.places import ROOT

QUESTION = "When does the garage open?"


@contextmanager
def program(database: str, folder: Path, *options: str, **environment: str) -> Iterator[Program]:
    command = [sys.executable, "-m", "ragkit", "serve", "--port", "0", *options]
    ours = {"RAGKIT_DATABASE_URL": database, "RAGKIT_HOME": str(folder / "home")}
    variables = os.environ | ours | environment
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
            own = os.getpriority(os.PRIO_PROCESS, 0)
            niceness = [os.getpriority(os.PRIO_PROCESS, pid) for pid in children]
            lowered = max(own, priority.NICENESS)
            assert niceness == [own, own, lowered], "the worker gives way"
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


def fail_to_live(process: Process, times: int) -> list[float]:
    """Have a process end so many times; return the pauses before its next starts."""
    pauses = []
    for _ in range(times):
        process.again_at = 0.0
        process.look()
        assert process.running is not None
        process.running.wait()
        process.look()
        pauses.append(process.again_at - time.monotonic())
    return pauses


def ending_process(name: str = "ingestion worker") -> Process:
    return Process(name, [sys.executable, "-c", "raise SystemExit(4)"])


def test_what_keeps_ending_is_down_and_started_again_with_growing_pauses(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    status = StatusFile(tmp_path / "status")
    assert status.read() == {}
    process = ending_process()
    pauses = fail_to_live(process, 2)
    status.write([process])
    assert status.read() == {"ingestion worker": True}
    pauses += fail_to_live(process, 1)
    status.write([process])
    assert (process.is_down, status.read()) == (True, {"ingestion worker": False})
    assert [round(pause) for pause in pauses] == [1, 2, 4]
    process.failures = 20
    assert round(fail_to_live(process, 1)[0]) == processes.LONGEST_PAUSE_S
    said = capsys.readouterr().err.splitlines()
    assert said[1] == (
        "ragkit: the ingestion worker ended (exit code 4); it is started again in 2 s"
    )
    assert said[2] == (
        "ragkit: the ingestion worker ended (exit code 4), 3 times soon after its start: the server"
        " goes on without it; it is started again in 4 s"
    )


def test_what_lives_long_again_is_up(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    process = ending_process()
    fail_to_live(process, processes.MOST_FAILED_STARTS)
    process.command = ["/bin/sleep", "60"]
    process.again_at = 0.0
    process.look()
    process.look()
    assert process.is_down  # it has only just been started
    monkeypatch.setattr(processes, "SETTLED_S", 0.0)
    process.look()
    assert process.failures == 0
    assert capsys.readouterr().err.endswith("ragkit: the ingestion worker runs again\n")
    processes.end([process], lambda: False)
    assert process.running is not None
    assert process.running.poll() is not None


def test_a_server_without_any_web_process_gives_up_and_one_with_some_does_not() -> None:
    web = [ending_process(f"web process {number}") for number in (1, 2)]
    worker = ending_process()
    for process in (web[0], worker):
        process.failures = processes.MOST_FAILED_STARTS
    supervise._check_any_answers([*web, worker])
    web[1].failures = processes.MOST_FAILED_STARTS
    with pytest.raises(supervise.ServeError, match="no web process stays alive"):
        supervise._check_any_answers([*web, worker])


def test_what_does_not_end_in_its_time_is_killed() -> None:
    code = (
        "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); print(flush=True); input()"
    )
    stuck = Process("stuck", [], end_s=0.5)
    stuck.running = subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    with stuck.running as child:
        assert child.stdout is not None
        child.stdout.readline()
        processes.end([stuck], lambda: False)
        assert child.poll() == -signal.SIGKILL


DYING_WORKER = """
import sys
if sys.orig_argv[-2:] == ["ragkit", "worker"]:
    sys.exit("no worker today")
"""


@pytest.mark.long
def test_it_serves_without_a_worker_that_cannot_live_and_says_so(
    fresh_database: str, tmp_path: Path
) -> None:
    (tmp_path / "sitecustomize.py").write_text(DYING_WORKER)
    with program(fresh_database, tmp_path, "--no-page", PYTHONPATH=f"{tmp_path}:{ROOT}") as running:
        url = running.url()
        wait_for(
            "it is not said", lambda: "detail" in httpx.get(f"{url}/readyz", timeout=60).json()
        )
        answer = httpx.get(f"{url}/readyz", timeout=60)
        assert answer.status_code == 200
        assert answer.json() == {
            "status": "ok",
            "detail": "without ingestion worker, which keeps ending soon after its start",
        }
        assert httpx.get(f"{url}/v1/models", timeout=60).status_code == 200
        figures = httpx.get(f"{url}/metrics", timeout=60).text
        assert 'ragkit_process_up{process="ingestion worker"} 0.0' in figures
        assert 'ragkit_process_up{process="web process 1"} 1.0' in figures
        assert "the server goes on without it" in running.log.read_text()
        running.child.send_signal(signal.SIGTERM)
        assert running.child.wait(60) == 0


@contextmanager
def streaming(database: str, folder: Path, stub: StubServer, grace_s: float) -> Iterator[Program]:
    """A server with a document, whose answers a stub writes."""
    settings = {
        "RAGKIT_LLM_URL": stub.url,
        "RAGKIT_LLM_MODEL": "stub",
        "RAGKIT_SERVE_GRACE_S": str(grace_s),
    }
    (folder / "garage.txt").write_text("The garage opens at six in the morning.")
    variables = {"RAGKIT_DATABASE_URL": database}
    assert (
        commands.run("ingest", "garage.txt", folder=folder, environment=variables).returncode == 0
    )
    with program(database, folder, "--no-page", **settings) as running:
        yield running


@pytest.mark.long
def test_a_drain_lets_streams_end_and_takes_nothing_new(
    fresh_database: str, tmp_path: Path
) -> None:
    with (
        StubServer(lambda messages: Reply("word " * 40, delay_s=0.1)) as stub,
        streaming(fresh_database, tmp_path, stub, 60) as running,
    ):
        url = running.url()
        children = running.children()
        pool = ThreadPoolExecutor()
        starts = [threading.Event() for _ in range(3)]
        asked = [pool.submit(read_answer, url, started) for started in starts]
        for started in starts:
            assert started.wait(60)
        running.child.send_signal(signal.SIGTERM)
        wait_for("it drains", lambda: httpx.get(f"{url}/readyz", timeout=60).status_code == 503)
        assert httpx.get(f"{url}/livez", timeout=60).status_code == 200
        sent = {"model": "ragkit", "messages": [{"role": "user", "content": QUESTION}]}
        refused = httpx.post(f"{url}/v1/chat/completions", json=sent, timeout=60)
        assert (refused.status_code, refused.headers["retry-after"]) == (503, "1")
        for answer in asked:
            assert answer.result(60).rstrip().endswith("data: [DONE]")
        assert running.child.wait(60) == 0
        assert all(gone(pid) for pid in children)


@pytest.mark.long
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_second_signal_ends_everything_at_once(
    number: signal.Signals, fresh_database: str, tmp_path: Path
) -> None:
    with (
        StubServer(lambda messages: Reply("word " * 2000, delay_s=0.05)) as stub,
        streaming(fresh_database, tmp_path, stub, 600) as running,
    ):
        url = running.url()
        children = running.children()
        started = threading.Event()
        with ThreadPoolExecutor() as pool:
            asked = pool.submit(read_answer, url, started)
            assert started.wait(60)
            running.child.send_signal(number)
            wait_for("it drains", lambda: httpx.get(f"{url}/readyz", timeout=60).status_code == 503)
            running.child.send_signal(number)
            assert running.child.wait(60) == 128 + number
            assert "[DONE]" not in asked.result(60)
        assert all(gone(pid) for pid in children)


def read_answer(url: str, started: threading.Event) -> str:
    """Stream an answer to its end, or until the connection is cut."""
    text = ""
    sent = {"model": "ragkit", "messages": [{"role": "user", "content": QUESTION}], "stream": True}
    with (
        suppress(httpx.TransportError),
        httpx.stream("POST", f"{url}/v1/chat/completions", json=sent, timeout=60) as answer,
    ):
        for piece in answer.iter_text():
            text += piece
            started.set()
    return text


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
