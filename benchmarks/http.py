"""What the HTTP API adds to the model server's time, and what one machine carries."""

from __future__ import annotations

import asyncio
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from statistics import median, quantiles
from time import perf_counter, sleep

import httpx

from benchmarks.homes import passable_folder
from benchmarks.serving_stub import PACE_S, PIECES, running
from ragkit.store.server.embedded import EmbeddedServer, stop

ROUNDS = 400  # questions of each kind, in turns
WARM_UP = 20
LOAD_S = 10.0
WARM_S = 3.0  # before it, not counted: each process has loaded what it needs
AT_ONCE = 16
STREAMS = 100
UPLOADS = 30
# https://docs.litellm.ai/docs/benchmarks, read in November 2026.
LITELLM = (
    "LiteLLM publishes 2 ms added in the median, 8 ms at the 95th and 13 ms at the 99th percentile,"
    " at 1,170 requests a second on four instances of 4 CPUs and 8 GB each"
)

Body = dict[str, object]
_NUMBERS = count(1)


def run() -> str:
    """Measure everything against one server, and write the section."""
    with passable_folder() as folder, running() as stubs:
        home = Path(folder)
        os.chmod(home, 0o755)
        try:
            with EmbeddedServer.open(home / "db") as server:
                parts = ["## HTTP API\n"]
                with _served(server.url, stubs["at once"]) as url:
                    fill(url)
                    parts += [_added(url, stubs["at once"]), _uploads(url)]
                with _served(server.url, stubs["paced"]) as url:
                    parts.append(_streams(url, stubs["paced"]))
                with _served(server.url, stubs["at once"], "--workers", "2") as url:
                    parts.append(_rate(url, stubs["at once"]))
        finally:
            stop(home / "db")
    return "\n".join(parts)


def _added(url: str, stub: str) -> str:
    """Ask the stub directly and through the API, in turns."""
    whole: dict[str, list[float]] = {"directly": [], "through": []}
    first: dict[str, list[float]] = {"directly": [], "through": [], "answered": []}
    pieces: dict[str, list[float]] = {"directly": [], "through": [], "answered": []}
    with httpx.Client(timeout=30, trust_env=False) as client:
        for number in range(ROUNDS + WARM_UP):
            kept = number >= WARM_UP
            plain: Body = {"model": "stub", "messages": _asked()}
            for name, base in (("directly", stub), ("through", f"{url}/v1")):
                took = _whole(client, base, plain)
                seen = _stream(client, base, plain)
                if kept:
                    whole[name].append(took)
                    first[name].append(seen[0])
                    pieces[name].append(seen[1])
            seen = _stream(client, f"{url}/v1", plain | {"model": "ragkit"})
            if kept:
                first["answered"].append(seen[0])
                pieces["answered"].append(seen[1])
    rows = [
        "### Added to the model server's own time\n",
        "A stub server in a process of its own, asked directly and through `ragkit serve` in turns,"
        f" {ROUNDS} times each, by httpx over kept connections; milliseconds, and medians of the"
        " differences. An answer from documents searches, packs and verifies too. No question is"
        " asked twice.\n",
        "| call | p50 | p95 | p99 | added, p50 |",
        "|---|---|---|---|---|",
        _row("whole answer, directly", whole["directly"], None),
        _row("whole answer, passed through", whole["through"], whole["directly"]),
        _row("first piece, directly", first["directly"], None),
        _row("first piece, passed through", first["through"], first["directly"]),
        _row("first piece, answered from documents", first["answered"], first["directly"]),
        _row("each further piece, directly", pieces["directly"], None),
        _row("each further piece, passed through", pieces["through"], pieces["directly"]),
        _row("each further piece, from documents", pieces["answered"], pieces["directly"]),
    ]
    return "\n".join(rows) + "\n"


def _row(name: str, seconds: Sequence[float], base: Sequence[float] | None) -> str:
    p50, p95, p99 = (1000 * value for value in _percentiles(seconds))
    added = ""
    if base is not None:
        added = f"{1000 * median(x - y for x, y in zip(seconds, base, strict=True)):+.3f}"
    return f"| {name} | {p50:.3f} | {p95:.3f} | {p99:.3f} | {added} |"


def _percentiles(values: Sequence[float]) -> tuple[float, float, float]:
    cuts = quantiles(values, n=100)
    return median(values), cuts[94], cuts[98]


def _whole(client: httpx.Client, base: str, body: Body) -> float:
    began = perf_counter()
    answer = client.post(f"{base}/chat/completions", json=body)
    took = perf_counter() - began
    assert answer.json()["choices"], answer.text
    return took


def _stream(client: httpx.Client, base: str, body: Body) -> tuple[float, float]:
    """Return the seconds to the first text, and to each further one."""
    began, times = perf_counter(), []
    with client.stream("POST", f"{base}/chat/completions", json=body | {"stream": True}) as reply:
        for line in reply.iter_lines():
            if line.startswith("data: {"):
                choices = json.loads(line[6:])["choices"]
                if choices and choices[0]["delta"].get("content"):
                    times.append(perf_counter())
    assert abs(len(times) - PIECES["at once"]) <= 2, len(times)
    return times[0] - began, (times[-1] - times[0]) / (len(times) - 1)


def _uploads(url: str) -> str:
    """Measure from the start of an upload to the moment a search finds it."""
    seconds = []
    with httpx.Client(base_url=url, timeout=60, trust_env=False) as client:
        for number in range(UPLOADS):
            word = f"zanzibar{number}"
            sent = {"file": (f"{word}.txt", f"The password of the day is {word}.".encode())}
            began = perf_counter()
            client.post("/v1/collections/default/documents", files=sent).raise_for_status()
            while word not in client.post("/v1/search", json={"query": word, "k": 1}).text:
                sleep(0.005)
            seconds.append(perf_counter() - began)
    p50, p95, _ = _percentiles(seconds)
    return (
        "### From upload to searchable\n\n"
        f"One small text file at a time, {UPLOADS} times, asked for every 5 ms:"
        f" {p50:.2f} s in the median, {p95:.2f} s at the 95th percentile.\n"
    )


def _streams(url: str, stub: str) -> str:
    """Run a hundred streams at once, directly and through the API."""
    took = {"directly": _all_streams(stub), "through": _all_streams(f"{url}/v1")}
    alone = PIECES["paced"] * PACE_S
    return (
        f"### {STREAMS} streams at once\n\n"
        f"The stub sends {PIECES['paced']} pieces in {1000 * alone:.0f} ms. All {STREAMS} were"
        f" complete after {took['directly']:.2f} s directly, {took['through']:.2f} s passed"
        " through one process.\n"
    )


def _all_streams(base: str) -> float:
    async def one(client: httpx.AsyncClient) -> str:
        body = {"model": "stub", "messages": _asked(), "stream": True}
        answer = await client.post(f"{base}/chat/completions", json=body)
        return answer.text

    async def every() -> float:
        limits = httpx.Limits(max_connections=STREAMS)
        async with httpx.AsyncClient(timeout=60, limits=limits, trust_env=False) as client:
            await one(client)
            began = perf_counter()
            texts = await asyncio.gather(*(one(client) for _ in range(STREAMS)))
            took = perf_counter() - began
        assert all(text.rstrip().endswith("[DONE]") for text in texts)
        return took

    return asyncio.run(every())


def _rate(url: str, stub: str) -> str:
    """Count answers in a while, asked by a few clients at once."""
    rows = []
    for name, base, model in (
        ("the stub, directly", stub, "stub"),
        ("passed through", f"{url}/v1", "stub"),
        ("answered from documents", f"{url}/v1", "ragkit"),
        ("searches", f"{url}/v1", None),
    ):
        _load(base, model, WARM_S)
        seconds = _load(base, model, LOAD_S)
        p50, p95, p99 = (1000 * value for value in _percentiles(seconds))
        rows.append(f"| {name} | {len(seconds) / LOAD_S:.0f} | {p50:.1f} | {p95:.1f} | {p99:.1f} |")
    return "\n".join(
        [
            "### Requests a second\n",
            f"{AT_ONCE} clients for {LOAD_S:.0f} s, whole answers, `--workers 2`; clients, stub and"
            " server share the machine's cores. No question is asked twice. For orientation:"
            f" {LITELLM}.\n",
            "| | requests/s | p50 ms | p95 ms | p99 ms |",
            "|---|---|---|---|---|",
            *rows,
            "",
        ]
    )


def _load(base: str, model: str | None, duration_s: float) -> list[float]:
    """Ask for a while, and return the seconds of each request."""

    async def client_of(client: httpx.AsyncClient, until: float, seconds: list[float]) -> None:
        while perf_counter() < until:
            began = perf_counter()
            if model is None:
                query = f"days of leave in team {next(_NUMBERS)}"
                answer = await client.post(f"{base}/search", json={"query": query})
            else:
                body = {"model": model, "messages": _asked()}
                answer = await client.post(f"{base}/chat/completions", json=body)
            assert answer.status_code == 200, answer.text
            assert '"refused":true' not in answer.text, answer.text
            seconds.append(perf_counter() - began)

    async def every() -> list[float]:
        seconds: list[float] = []
        async with httpx.AsyncClient(timeout=60, trust_env=False) as client:
            until = perf_counter() + duration_s
            await asyncio.gather(*(client_of(client, until, seconds) for _ in range(AT_ONCE)))
        return seconds

    return asyncio.run(every())


def _asked() -> list[dict[str, str]]:
    """Ask what the handbook says, in words that were not asked before."""
    question = f"How many days of leave does a full-time employee of team {next(_NUMBERS)} have?"
    return [{"role": "user", "content": question}]


def fill(url: str) -> None:
    """Upload the example handbook, and wait until all of it can be searched."""
    handbook = Path(__file__).resolve().parent.parent / "examples" / "handbook"
    with httpx.Client(base_url=url, timeout=120, trust_env=False) as client:
        for path in sorted(handbook.rglob("*")):
            if path.is_file():
                sent = {"file": (path.name, path.read_bytes())}
                client.post("/v1/collections/default/documents", files=sent).raise_for_status()
    wait_for_uploads(url)


def wait_for_uploads(url: str) -> None:
    """Wait until the latest uploads can be searched, or have failed."""
    with httpx.Client(base_url=url, timeout=120, trust_env=False) as client:
        states: Mapping[str, str] = {"": "queued"}
        while set(states.values()) - {"done", "failed"}:
            sleep(0.2)
            jobs = client.get("/v1/jobs", params={"limit": 100}).json()["data"]
            states = {str(job["id"]): job["state"] for job in jobs}


@contextmanager
def _served(database: str, model: str, *options: str) -> Iterator[str]:
    settings = {
        "RAGKIT_DATABASE_URL": database,
        "RAGKIT_LLM_URL": model,
        "RAGKIT_LLM_MODEL": "stub",
        "RAGKIT_SERVE_CONCURRENCY": "128",
        "RAGKIT_SERVE_KEY_CONCURRENCY": "1000",
        "RAGKIT_SERVE_KEY_RATE": "1000000",
    }
    with served(os.environ | settings, "--no-page", *options) as (url, _):
        yield url


@contextmanager
def served(environment: Mapping[str, str], *options: str) -> Iterator[tuple[str, int]]:
    """Run `ragkit serve` on a free port; give its address and the process's id."""
    command = [sys.executable, "-m", "ragkit", "serve", "--port", "0", *options]
    with subprocess.Popen(
        command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as process:
        assert process.stdout is not None
        try:
            address = re.search(r"http://\S+", process.stdout.readline())
            assert address is not None, "the server names its address"
            yield address[0], process.pid
        finally:
            process.terminate()
