"""A server under mixed load with random disconnects: what it holds and what it adds stay flat.

`python -m tests.serve.soak SECONDS` (`make soak`, ten minutes). Ends with exit code 1 when
memory, descriptors, connections or the time that ragkit adds to the model's own grew, or an answer
was a 5xx.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from statistics import median, quantiles
from typing import Any

import httpx
import psycopg

from ragkit.store.server.embedded import EmbeddedServer, stop
from ragkit.testing.stub_server.server import Reply, StubServer
from tests.places import ROOT

CLIENTS = 8
GROWTH = 0.05  # of memory, once warm
SPARE = CLIENTS  # descriptors and connections that may be kept: one idle for each client
PAIRS = 60  # questions that are asked the model and then ragkit
ADDED_RATIO = 3.0  # of the median and of the 95th percentile, at the end to once warm
ADDED_FLOOR_S = 0.05  # less than this is counted as this: mostly what else the machine does
ADDED_MOST_S = 2.0  # generous: a search and a check of a short answer
ASKED = [{"role": "user", "content": "How many days of leave does a full-time employee have?"}]
HANDBOOK = ROOT / "examples" / "handbook"


@dataclass(frozen=True)
class Held:
    """What the web process holds: bytes of memory of its own, descriptors, and connections."""

    memory: int
    files: int
    connections: int


@dataclass(frozen=True)
class Added:
    """Seconds that ragkit adds to the model's own answer."""

    median: float
    p95: float


def main(seconds: float) -> int:
    """Load a server for so long; return 1 when it failed or grew."""
    with tempfile.TemporaryDirectory(prefix="ragkit-soak-") as folder:
        os.chmod(folder, 0o711)  # as root PostgreSQL runs as another user
        Path(folder).chmod(0o755)
        home = Path(folder) / "db"
        try:
            with EmbeddedServer.open(home) as database, StubServer(_script()) as stub:
                return _soak(database.url, stub.url, seconds)
        finally:
            stop(home)


def _soak(database: str, model: str, seconds: float) -> int:
    with _served(database, model) as (url, pid):
        _fill(url)
        seen = _load(url, seconds / 3)  # pools fill, caches warm
        before, added = _held(pid, database), measure_added(model, f"{url}/v1")
        seen += _load(url, seconds / 3)
        between = _held(pid, database)
        seen += _load(url, seconds / 3)
        after, added_after = _held(pid, database), measure_added(model, f"{url}/v1")
    print(f"{sum(seen.values())} requests: {dict(sorted(seen.items()))}")
    print(f"before  {before}\nbetween {between}\nafter   {after}")
    problems = [f"{n} answers were {status}" for status, n in seen.items() if status >= 500]
    grown = after.memory / before.memory - 1
    if grown > GROWTH:
        problems.append(f"memory grew by {grown:.1%}")
    if after.files > before.files + SPARE:
        problems.append(f"descriptors grew from {before.files} to {after.files}")
    if after.connections > before.connections + SPARE:
        problems.append(f"connections grew from {before.connections} to {after.connections}")
    problems += latency_problems(added, added_after)
    print(f"added   {added}\nafter   {added_after}")
    print("\n".join(problems) or f"flat: memory {grown:+.1%}")
    return 1 if problems else 0


def measure_added(model: str, ragkit: str) -> Added:
    """Ask the model alone and then through ragkit, by turns, so that both meet the same machine."""
    added = []
    with httpx.Client(timeout=60, trust_env=False) as client:
        for _ in range(PAIRS):
            alone = _seconds(client, model, "stub")
            added.append(_seconds(client, ragkit, "ragkit") - alone)
    return Added(median(added), quantiles(added, n=20)[-1])


def latency_problems(before: Added, after: Added) -> list[str]:
    """Say what of the added time grew, or is too much."""
    problems = []
    for name in ("median", "p95"):
        first, last = getattr(before, name), getattr(after, name)
        if last > ADDED_MOST_S:
            problems.append(f"the added time's {name} is {last:.3f} s")
        elif last > ADDED_RATIO * max(first, ADDED_FLOOR_S):
            problems.append(f"the added time's {name} grew from {first:.3f} to {last:.3f} s")
    return problems


def _seconds(client: httpx.Client, url: str, model: str) -> float:
    body = {"model": model, "messages": ASKED}
    began = time.perf_counter()
    client.post(f"{url}/chat/completions", json=body).raise_for_status()
    return time.perf_counter() - began


def _script() -> Callable[[Any], Reply]:
    dice = random.Random(1)

    def script(messages: Any) -> Reply:
        return Reply("Twenty-six days " * 10 + "[1].", delay_s=dice.choice([0, 0, 0.002, 0.01]))

    return script


def _load(url: str, seconds: float) -> Counter[int]:
    seen: Counter[int] = Counter()

    async def every() -> None:
        until = time.monotonic() + seconds
        async with httpx.AsyncClient(base_url=url, timeout=60, trust_env=False) as client:
            await asyncio.gather(*(_client(client, n, until, seen) for n in range(CLIENTS)))

    asyncio.run(every())
    time.sleep(2)  # what was left is let go
    return seen


async def _client(client: httpx.AsyncClient, n: int, until: float, seen: Counter[int]) -> None:
    dice = random.Random(n)
    kinds: list[Callable[[httpx.AsyncClient, random.Random], Awaitable[int]]]
    kinds = [_whole, _stream, _left, _left, _search, _list, _wrong]
    while time.monotonic() < until:
        seen[await dice.choice(kinds)(client, dice)] += 1


def _body(dice: random.Random, **more: Any) -> dict[str, Any]:
    return {"model": dice.choice(["ragkit", "stub"]), "messages": ASKED} | more


async def _whole(client: httpx.AsyncClient, dice: random.Random) -> int:
    return (await client.post("/v1/chat/completions", json=_body(dice))).status_code


async def _stream(client: httpx.AsyncClient, dice: random.Random) -> int:
    answer = await client.post("/v1/chat/completions", json=_body(dice, stream=True))
    assert answer.status_code != 200 or answer.text.rstrip().endswith("[DONE]"), answer.text
    return answer.status_code


async def _left(client: httpx.AsyncClient, dice: random.Random) -> int:
    """Hang up at any moment: while asking, while waiting, in the middle of the answer."""
    sent = json.dumps(_body(dice, stream=dice.random() < 0.7)).encode()
    request = (
        b"POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\n"
        b"Content-Type: application/json\r\n" + f"Content-Length: {len(sent)}\r\n\r\n".encode()
    ) + sent
    base = client.base_url
    reader, writer = await asyncio.open_connection(base.host, base.port)
    try:
        writer.write(request[: dice.choice([50, len(request), len(request), len(request)])])
        with suppress(TimeoutError):
            async with asyncio.timeout(dice.random() * 0.2):
                await reader.read(dice.randrange(1, 4000))
    finally:
        writer.close()
        with suppress(OSError):
            await writer.wait_closed()
    return 0


async def _search(client: httpx.AsyncClient, dice: random.Random) -> int:
    words = dice.sample("leave travel gauge wall office friday days cost".split(), 3)
    return (await client.post("/v1/search", json={"query": " ".join(words)})).status_code


async def _list(client: httpx.AsyncClient, dice: random.Random) -> int:
    path = dice.choice(
        ["/v1/models", "/v1/collections", "/v1/collections/default/documents", "/v1/jobs"]
    )
    return (await client.get(path)).status_code


async def _wrong(client: httpx.AsyncClient, dice: random.Random) -> int:
    bad: list[dict[str, Any]] = [{"model": "none"}, {"messages": []}, {"n": -1}]
    wrong = dice.choice([*bad, {"ragkit": {"x": 1}}])
    return (await client.post("/v1/chat/completions", json=_body(dice) | wrong)).status_code


def _held(pid: int, database: str) -> Held:
    """Read what a process holds; memory that it shares with others does not count."""
    rollup = Path(f"/proc/{pid}/smaps_rollup").read_text()
    private = sum(
        int(line.split()[1]) << 10 for line in rollup.splitlines() if line.startswith("Private_")
    )
    with psycopg.connect(database) as conn:
        row = conn.execute(
            "SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend'"
        ).fetchone()
    assert row is not None
    return Held(private, len(os.listdir(f"/proc/{pid}/fd")), int(row[0]))


def _fill(url: str) -> None:
    with httpx.Client(base_url=url, timeout=60, trust_env=False) as client:
        for path in sorted(HANDBOOK.rglob("*.md")):
            sent = {"file": (path.name, path.read_bytes())}
            client.post("/v1/collections/default/documents", files=sent).raise_for_status()
        deadline = time.monotonic() + 120
        while True:
            jobs = client.get("/v1/jobs", params={"limit": 100}).json()["data"]
            if all(job["state"] == "done" for job in jobs):
                return
            assert time.monotonic() < deadline, jobs
            time.sleep(0.2)


@contextmanager
def _served(database: str, model: str) -> Iterator[tuple[str, int]]:
    """Run `ragkit serve`; yield its address and the web process's number."""
    command = [sys.executable, "-m", "ragkit", "serve", "--port", "0", "--no-page"]
    settings = {
        "RAGKIT_DATABASE_URL": database,
        "RAGKIT_LLM_URL": model,
        "RAGKIT_LLM_MODEL": "stub",
        "RAGKIT_SERVE_KEY_CONCURRENCY": "100",
        "RAGKIT_SERVE_KEY_RATE": "1000000",
    }
    with subprocess.Popen(
        command,
        env=os.environ | settings,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as process:
        assert process.stdout is not None
        try:
            line = process.stdout.readline()
            children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
            web = next(
                int(pid)
                for pid in children
                if b"ragkit_serve.web.web" in Path(f"/proc/{pid}/cmdline").read_bytes()
            )
            yield line.split()[4], web
        finally:
            process.terminate()


if __name__ == "__main__":
    sys.exit(main(float(sys.argv[1])))
