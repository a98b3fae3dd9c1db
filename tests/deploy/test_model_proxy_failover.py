"""deploy/nginx/models.conf before several servers: balancing, fail-over, nothing cut silently."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from ragkit.testing.stub_server.server import Fault, StubServer
from tests.deploy.model_proxy import (
    PREFIX,
    SERVERS_KEY,
    chat,
    content,
    free_port,
    model_proxy,
    needs_nginx,
    poll,
    stream,
)

pytestmark = needs_nginx
# A shorter beginning, so that short prompts differ after it.
SHORT_PREFIX = PREFIX | {".{1,4096}": ".{1,200}"}


@pytest.fixture
def servers() -> Iterator[tuple[StubServer, StubServer]]:
    with (
        StubServer(lambda messages: "I am A", api_key=SERVERS_KEY) as a,
        StubServer(lambda messages: "I am B", api_key=SERVERS_KEY) as b,
    ):
        yield a, b


def test_requests_go_to_both_servers(
    tmp_path: Path, servers: tuple[StubServer, StubServer]
) -> None:
    with model_proxy(tmp_path, *(server.url for server in servers)) as url:
        assert {content(chat(url)) for _ in range(20)} == {"I am A", "I am B"}


def test_a_full_server_passes_its_requests_on(
    tmp_path: Path, servers: tuple[StubServer, StubServer]
) -> None:
    a, b = servers
    a.script = lambda messages: Fault(status=503, message="queue full")
    with model_proxy(tmp_path, a.url, b.url) as url:
        assert {content(chat(url)) for _ in range(10)} == {"I am B"}
        b.script = a.script
        full = chat(url)
        assert full.status_code == 503
        assert full.headers.get_list("retry-after") == ["1"]


def test_a_servers_own_retry_after_stays(
    tmp_path: Path, servers: tuple[StubServer, StubServer]
) -> None:
    servers[0].script = lambda messages: Fault(status=429, retry_after_s=7)
    with model_proxy(tmp_path, servers[0].url) as url:
        busy = chat(url)
        assert busy.status_code == 429
        assert busy.headers.get_list("retry-after") == ["7"]


def test_without_any_server_the_answer_says_when_to_try_again(tmp_path: Path) -> None:
    with model_proxy(tmp_path, f"127.0.0.1:{free_port()}") as url:
        down = chat(url)
        assert down.status_code == 503
        assert down.headers["retry-after"] == "1"
        assert "no model server answers" in down.json()["error"]["message"]


def test_other_errors_of_a_server_are_passed_on_and_not_tried_again(
    tmp_path: Path, servers: tuple[StubServer, StubServer]
) -> None:
    a, b = servers
    for server in servers:
        server.script = lambda messages: Fault(status=500, message="defect")
    with model_proxy(tmp_path, a.url, b.url) as url:
        assert chat(url).status_code == 500
    assert len(a.requests) + len(b.requests) == 1


def test_prompts_with_one_beginning_go_to_one_server(
    tmp_path: Path, servers: tuple[StubServer, StubServer]
) -> None:
    a, b = servers
    with model_proxy(tmp_path, a.url, b.url, edits=SHORT_PREFIX) as url:
        prompts = [f"prompt {n} " + "x" * 300 for n in range(24)]
        homes = [content(chat(url, prompt + "one")) for prompt in prompts]
        assert set(homes) == {"I am A", "I am B"}
        assert [content(chat(url, prompt + "two")) for prompt in prompts] == homes
        hashed = [content(chat(url, f"{n}", **{"X-Prompt-Prefix": "abcdef0123"})) for n in range(6)]
        assert len(set(hashed)) == 1
        assert content(chat(url, "长" * 200_000)) in {"I am A", "I am B"}  # beyond one buffer


def test_a_server_that_is_down_moves_only_its_prompts(tmp_path: Path) -> None:
    with (
        StubServer(lambda messages: "A", api_key=SERVERS_KEY) as a,
        StubServer(lambda messages: "B", api_key=SERVERS_KEY) as b,
        StubServer(lambda messages: "C", api_key=SERVERS_KEY) as c,
        model_proxy(tmp_path, a.url, b.url, c.url, edits=SHORT_PREFIX) as url,
    ):
        prompts = [f"prompt {n} " + "x" * 300 for n in range(40)]
        homes = [content(chat(url, prompt)) for prompt in prompts]
        shares = {name: homes.count(name) / len(homes) for name in "ABC"}
        assert min(shares.values()) > 0.1, shares  # a third each, more or less
        c.script = lambda messages: Fault(status=503)
        moved = [content(chat(url, prompt)) for prompt in prompts]
        changes = [home for home, place in zip(homes, moved, strict=True) if place != home]
        assert changes == ["C"] * homes.count("C")
        assert set(moved) == {"A", "B"}


def test_killing_a_server_cuts_no_answer_silently_and_loses_no_request(tmp_path: Path) -> None:
    """Two processes answer 40 streams; one is killed while it answers; 20 more follow."""
    program = str(Path(__file__).with_name("model_server.py"))
    ports = free_port(), free_port()
    processes = [
        subprocess.Popen([sys.executable, program, str(port)], stdout=subprocess.PIPE)
        for port in ports
    ]
    try:
        for process in processes:
            assert process.stdout is not None
            assert process.stdout.readline()
        with model_proxy(tmp_path, *(f"127.0.0.1:{port}" for port in ports)) as url:
            started = threading.Semaphore(0)
            with ThreadPoolExecutor(40) as pool:
                early = [pool.submit(stream, url, started.release) for _ in range(20)]
                assert all(started.acquire(timeout=60) for _ in early)
                late = [pool.submit(stream, url) for _ in range(20)]
                processes[0].kill()
                outcomes = [future.result(60) for future in early + late]
                following = [pool.submit(stream, url) for _ in range(20)]
                final = [future.result(60) for future in following]
        assert set(outcomes) <= {"complete", "broken"}
        assert "broken" in outcomes[:20]  # it was in the middle of some
        assert outcomes.count("broken") <= 20  # no later request had to suffer
        assert final == ["complete"] * 20
    finally:
        for process in processes:
            process.kill()
            process.wait()


def test_a_silent_server_is_given_up(
    tmp_path: Path, servers: tuple[StubServer, StubServer]
) -> None:
    a, b = servers
    a.script = lambda messages: Fault(hang=True)
    with model_proxy(
        tmp_path, a.url, b.url, edits={"proxy_read_timeout 300s;": "proxy_read_timeout 1s;"}
    ) as url:
        assert {content(chat(url)) for _ in range(4)} == {"I am B"}
        assert poll(lambda: a.running == 0)
