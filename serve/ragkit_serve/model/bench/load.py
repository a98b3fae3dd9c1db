"""Put a server under load: so many requests at once, or so many a second, each level warmed up.

It measures and sums up; which levels, and where the result goes, is for others.
"""

from __future__ import annotations

import asyncio
import json
import re
import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from random import Random
from time import perf_counter, process_time
from typing import TYPE_CHECKING, Final

from ragkit.errors import ModelServerError
from ragkit.model.server import CONNECT_TIMEOUT_S, ModelServer
from ragkit_serve.model.bench.exchange import Heard, ask, row
from ragkit_serve.model.bench.record import Level, Run
from ragkit_serve.model.bench.summary import Row, cached_share, summarise
from ragkit_serve.model.bench.workload import Prompt, Workload, body, marked, warm_ups

if TYPE_CHECKING:
    import httpx

_OPEN_WARM_UPS: Final = 4  # arbitrary
_COUNTER: Final = r"^vllm:prefix_cache_{}_total(?:\{{.*\}})? (\S+)$"

Progress = Callable[[], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """The server and the model to measure; `mark` tells this benchmark's prompts from others'."""

    server: ModelServer
    model: str
    timeout_s: float = 300.0
    mark: str = field(default_factory=lambda: secrets.token_hex(8))

    @property
    def url(self) -> str:
        return self.server.url.rstrip("/") + "/chat/completions"

    def client(self) -> httpx.AsyncClient:
        """Make a client without a limit of its own; proxies would be measured with the server."""
        import httpx

        key = self.server.api_key
        headers = {"Content-Type": "application/json", "Accept-Encoding": "identity"}
        return httpx.AsyncClient(
            headers=headers | ({"Authorization": f"Bearer {key}"} if key else {}),
            limits=httpx.Limits(max_connections=None, max_keepalive_connections=None),
            timeout=httpx.Timeout(None, connect=CONNECT_TIMEOUT_S),
            trust_env=False,
        )


def level_mark(mark: str, name: str) -> str:
    """Make a level's own mark, always of 8 characters."""
    return sha256(f"{mark} {name}".encode()).hexdigest()[:8]


async def measure(
    target: Target, workload: Workload, level: Level, *, seed: int, progress: Progress
) -> Run:
    """Measure one level. Raises ModelServerError when not even the warm-up is answered."""
    mark = level_mark(target.mark, f"server {level}")

    def written(prompts: Sequence[Prompt]) -> list[bytes]:
        asked = (body(marked(prompt, mark), workload, target.model) for prompt in prompts)
        return [json.dumps(one, ensure_ascii=False).encode() for one in asked]

    contents = written(workload.prompts)
    async with target.client() as client:
        before_all = written(warm_ups(workload.prompts, 1 + (level.concurrency or _OPEN_WARM_UPS)))
        await _warm_up(client, target, before_all)
        counters = await cache_counters(client, target)
        began, busy = perf_counter(), process_time()
        if level.rate_per_s is None:
            heard = await _closed(client, target, contents, level.concurrency or 1, progress)
        else:
            arrivals = due_times(len(contents), level.rate_per_s, seed)
            heard = await _open(client, target, contents, arrivals, progress)
        wall, busy = max(one.ended for one in heard) - began, process_time() - busy
        after = await cache_counters(client, target)
    rows = tuple(
        row(one, number, prompt.group, began)
        for number, (one, prompt) in enumerate(zip(heard, workload.prompts, strict=True))
    )
    return _run(target, level, rows, wall, busy / wall, grown(counters, after))


async def _warm_up(client: httpx.AsyncClient, target: Target, contents: Sequence[bytes]) -> None:
    """Ask once alone, so that the system prompt is cached, then all at once for the connections."""
    heard = [await ask(client, target.url, contents[0], target.timeout_s)]
    heard += await asyncio.gather(
        *(ask(client, target.url, content, target.timeout_s) for content in contents[1:])
    )
    rows = [row(one, n, 0, heard[0].sent) for n, one in enumerate(heard)]
    if all(one.error for one in rows):
        said = f"; {rows[0].said}" if rows[0].said else ""
        raise ModelServerError(
            f"language-model server {target.server.shown} answers no prompt of this benchmark"
            f" ({rows[0].error}{said}): {_remedy(rows[0].error)}"
        )


def _remedy(error: str) -> str:
    return {
        "HTTP 400": "lower --prompt-tokens and --answer-tokens, or see its log",
        "HTTP 401": "set RAGKIT_LLM_API_KEY",
        "HTTP 403": "set RAGKIT_LLM_API_KEY",
        "HTTP 404": "check --url, which usually ends in /v1, and --model",
        "no connection": "start it, or correct --url",
        "timeout": "see its load, or raise --timeout",
    }.get(error, "see its log")


async def _closed(
    client: httpx.AsyncClient,
    target: Target,
    contents: Sequence[bytes],
    concurrency: int,
    progress: Progress,
) -> list[Heard]:
    """Keep so many requests running; the next begins when one ends."""
    waiting = iter(enumerate(contents))
    heard: dict[int, Heard] = {}

    async def slot() -> None:
        for number, content in waiting:
            heard[number] = await ask(client, target.url, content, target.timeout_s)
            progress()

    await asyncio.gather(*(slot() for _ in range(concurrency)))
    return [heard[number] for number in range(len(contents))]


async def _open(
    client: httpx.AsyncClient,
    target: Target,
    contents: Sequence[bytes],
    arrivals: Sequence[float],
    progress: Progress,
) -> list[Heard]:
    """Send each request when it is due, whatever has been answered by then."""
    began = perf_counter()

    async def send(content: bytes, after: float) -> Heard:
        await asyncio.sleep(began + after - perf_counter())
        heard = await ask(client, target.url, content, target.timeout_s, began + after)
        progress()
        return heard

    return await asyncio.gather(*map(send, contents, arrivals))


def due_times(count: int, rate_per_s: float, seed: int) -> list[float]:
    """Draw when requests are due, in seconds: a Poisson process that begins at 0.

    >>> due_times(3, 10, seed=0) == due_times(3, 10, seed=0)
    True
    """
    random, at, times = Random(f"{seed} arrivals {rate_per_s!r}"), 0.0, []  # noqa: S311  repeatable, no secret
    for _ in range(count):
        times.append(at)
        at += random.expovariate(rate_per_s)
    return times


async def cache_counters(client: httpx.AsyncClient, target: Target) -> tuple[float, float] | None:
    """Read vLLM's counters of prompt tokens looked up in the prefix cache and found there."""
    import httpx

    url = re.sub(r"/v1/?$", "", target.server.url) + "/metrics"
    try:
        reply = await client.get(url, timeout=CONNECT_TIMEOUT_S)
    except (httpx.HTTPError, httpx.InvalidURL):
        return None
    found = [
        [float(value) for value in re.findall(_COUNTER.format(name), reply.text, re.MULTILINE)]
        for name in ("queries", "hits")
    ]
    return (sum(found[0]), sum(found[1])) if reply.status_code == 200 and all(found) else None


def grown(before: tuple[float, float] | None, after: tuple[float, float] | None) -> float | None:
    """Return hits per query between two readings of the counters; None where they say nothing.

    >>> grown((100, 50), (300, 60))
    0.05
    """
    if before is None or after is None or after[0] <= before[0]:
        return None
    return (after[1] - before[1]) / (after[0] - before[0])


def _run(
    target: Target,
    level: Level,
    rows: tuple[Row, ...],
    wall_s: float,
    client_cpu_share: float,
    by_metrics: float | None,
) -> Run:
    done = [one for one in rows if not one.error]
    told = cached_share(done) is not None
    return Run(
        engine="server",
        model=target.model,
        level=level,
        summary=summarise(rows, wall_s, cached_by_metrics=by_metrics),
        rows=rows,
        tokens_from="usage" if all(one.prompt_tokens is not None for one in done) else "pieces",
        cached_from="usage" if told else "" if by_metrics is None else "metrics",
        client_cpu_share=round(client_cpu_share, 3),
    )
