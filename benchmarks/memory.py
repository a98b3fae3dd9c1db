"""Memory of the whole of ragkit on one machine: database, server with its page, worker, model.

One `ragkit serve` with its defaults, which starts all others. Of memory that several processes
share each is charged its part: see Pss in proc_pid_smaps_rollup(5). What files back is counted,
too: libraries and the model's own.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from itertools import count, cycle, islice
from pathlib import Path
from threading import Thread

import httpx

from benchmarks import http
from benchmarks.data import cranfield
from benchmarks.footprint import children, postmaster, watched, whole
from benchmarks.homes import home
from benchmarks.startup import QUESTIONS
from benchmarks.targets import at_most

FILES = 300
IDLE_S = 10.0
REST_S = 360.0  # parsers have nothing to do for long enough to be ended
LOAD_S = 20.0
EVERY_S = 0.5
MOST_GB = 2.0
GB = 10**9
GROUPS = ("database", "server", "worker", "parsers")
Memory = dict[str, int]  # bytes by group

HEAD = f"""## Memory

`ragkit serve` with its defaults on an embedded database: the page, the API, the worker that reads
uploads, the model that comes with ragkit, answers quoted. MB (10⁶ bytes) at the end of {IDLE_S:g} s
without a request, or at the highest of what was looked at every {EVERY_S:g} s. Of what processes
share each is charged its part; what files back, such as libraries, is counted. *Load*:
{http.AT_ONCE} clients ask for {LOAD_S:g} s, each at once again. *Uploads*: {FILES} abstracts of
Cranfield, sent at once, the clients asking meanwhile.

| | database | server | worker | its parsers | whole |
|---|---|---|---|---|---|"""
PEERS = """
Published by others, not measured here. Open WebUI's
[documentation](https://github.com/open-webui/docs/blob/main/docs/troubleshooting/performance.md)
(August 2026) calls 1 GB very low for anything with retrieval, asks for 2 GB or more, and names 500
MB for the default embedding model in each worker process. R2R's repository (November 2025) names no
figure; its full composition starts a PostgreSQL of its own, MinIO, RabbitMQ, a second PostgreSQL,
Hatchet, Unstructured and the dashboard beside the server. Neither counts a language model, and
neither is one counted here.
"""


def run() -> str:
    """Measure, and tabulate."""
    rows: dict[str, Memory] = {}
    with home("memory") as folder, _served(folder) as (url, pid):
        rows["started, nobody there"] = _idle(folder, pid)
        http.fill(url)
        page = httpx.get(url, trust_env=False, follow_redirects=True)
        assert page.status_code == 200, page.text
        rows["handbook read, page open"] = _idle(folder, pid)
        with _highest(folder, pid) as highest:
            _ask(url)
        rows["load"] = highest
        with _highest(folder, pid) as highest:
            _upload(url)
        rows["load and uploads"] = highest
        time.sleep(REST_S)
        rows["six minutes later"] = _memory(folder, pid)
    lines = [HEAD]
    for name, memory in rows.items():
        cells = [f"{memory[group] / 10**6:,.0f}" for group in GROUPS]
        lines.append(f"| {name} | {' | '.join(cells)} | {sum(memory.values()) / 10**6:,.0f} |")
    wholes = {name: sum(memory.values()) / GB for name, memory in rows.items()}
    return "\n".join([*lines, "", "- " + at_most("GB in all", MOST_GB, wholes), PEERS])


@contextmanager
def _served(folder: Path) -> Iterator[tuple[str, int]]:
    """Serve a database without documents; give the address and the process's id."""
    inherited = {name: value for name, value in os.environ.items() if "RAGKIT_" not in name}
    settings = {"RAGKIT_SERVE_KEY_RATE": "1000000", "RAGKIT_SERVE_KEY_CONCURRENCY": "1000"}
    environment = inherited | settings | {"RAGKIT_HOME": str(folder)}
    with http.served(environment) as running:
        yield running


def _idle(folder: Path, pid: int) -> Memory:
    time.sleep(IDLE_S)
    return _memory(folder, pid)


@contextmanager
def _highest(folder: Path, pid: int) -> Iterator[Memory]:
    """Give the memory at the moment at which the whole was highest."""
    highest = dict.fromkeys(GROUPS, 0)

    def look() -> None:
        memory = _memory(folder, pid)
        if sum(memory.values()) > sum(highest.values()):
            highest.update(memory)

    with watched(EVERY_S, look):
        yield highest


def _memory(folder: Path, pid: int) -> Memory:
    """Add up the processes of each group, by who started them."""
    first = postmaster(folder)
    memory = {"database": whole(first) + sum(map(whole, children(first)))}
    memory |= {"server": whole(pid), "worker": 0, "parsers": 0}
    for child in children(pid):
        if _is_worker(child):
            memory["worker"] += whole(child)
            memory["parsers"] += sum(map(whole, children(child)))
        else:
            memory["server"] += whole(child) + sum(map(whole, children(child)))
    return memory


def _is_worker(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().endswith(b"\0worker\0")
    except (FileNotFoundError, ProcessLookupError):  # it has just ended
        return False


def _upload(url: str) -> None:
    """Upload abstracts while clients ask, until all of them can be searched."""
    texts = list(cranfield().documents.values())[:FILES]
    asking = Thread(target=_ask, args=(url,))
    asking.start()
    with httpx.Client(base_url=url, timeout=120, trust_env=False) as client:
        for number, text in enumerate(texts):
            sent = {"file": (f"{number}.txt", text.encode())}
            client.post("/v1/collections/default/documents", files=sent).raise_for_status()
    http.wait_for_uploads(url)
    asking.join()


def _ask(url: str) -> None:
    """Have clients ask for a while, never the same question twice."""
    numbers = count()
    until = time.perf_counter() + LOAD_S

    def ask(question: str) -> None:
        with httpx.Client(base_url=url, timeout=60, trust_env=False) as client:
            while time.perf_counter() < until:
                message = {"role": "user", "content": f"{question} ({next(numbers)})"}
                body = {"model": "ragkit", "messages": [message]}
                answer = client.post("/v1/chat/completions", json=body)
                if answer.status_code == 503:  # as many as it takes wait already
                    time.sleep(1)
                else:
                    answer.raise_for_status()

    with ThreadPoolExecutor(http.AT_ONCE) as clients:
        for one in [clients.submit(ask, asked) for asked in islice(cycle(QUESTIONS), http.AT_ONCE)]:
            one.result()
