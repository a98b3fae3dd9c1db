"""The load against a server whose times and failures are known."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import httpx
import pytest

from ragkit.errors import ModelServerError
from ragkit.model.server import ModelServer
from ragkit_serve.model.bench import exchange, load
from ragkit_serve.model.bench.load import Target, cache_counters, due_times, grown, measure
from ragkit_serve.model.bench.record import Level, Run
from ragkit_serve.model.bench.workload import Shape, Workload, make_prompts
from ragkit_serve.stub import Fault, Reply, Script, StubServer

WORK = Workload(
    prompts=make_prompts(Shape(requests=8, prefix_tokens=50, prompt_tokens=200, questions=4))
)


def run(script: Script, level: Level, *, work: Workload = WORK, timeout_s: float = 60) -> Run:
    with StubServer(script) as stub:
        target = Target(server=ModelServer(stub.url), model="stub", timeout_s=timeout_s)
        return asyncio.run(measure(target, work, level, seed=0, progress=lambda: None))


class VirtualTime(asyncio.SelectorEventLoop):
    """A loop on which time passes only by what is slept, so that times can be exact."""

    def __init__(self) -> None:
        super().__init__()
        self._now = 0.0
        selector: Any = self._selector  # type: ignore[attr-defined]
        look = selector.select

        def select(timeout: float | None = None) -> Any:
            self._now += timeout or 0.0
            return look(0)

        selector.select = select

    def time(self) -> float:
        return self._now


@dataclass(frozen=True, slots=True, kw_only=True)
class Slow(Target):
    """A server that waits, then sends a role, the pieces and the end, with a pause before each."""

    prefill_s: float
    delay_s: float
    pieces: int

    def client(self) -> httpx.AsyncClient:
        return httpx.AsyncClient(transport=httpx.MockTransport(self._answer))

    def _answer(self, request: httpx.Request) -> httpx.Response:
        if request.method == "GET":
            return httpx.Response(404)
        return httpx.Response(200, content=self._events())

    async def _events(self) -> AsyncIterator[bytes]:
        await asyncio.sleep(self.prefill_s)
        deltas = [{"role": "assistant"}, *({"content": "one "} for _ in range(self.pieces)), {}]
        for delta in deltas:
            await asyncio.sleep(self.delay_s)
            choice = {"delta": delta, "finish_reason": None if delta else "stop"}
            yield f"data: {json.dumps({'choices': [choice]})}\n\n".encode()
        usage = {"prompt_tokens": 7, "completion_tokens": self.pieces}
        yield f"data: {json.dumps({'choices': [], 'usage': usage})}\n\ndata: [DONE]\n\n".encode()


@pytest.fixture
def slowly(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Run]:
    """Measure a server whose times are known: `slowly(level, prefill_s=1, delay_s=1, pieces=5)`."""
    for module in (load, exchange):
        monkeypatch.setattr(module, "perf_counter", lambda: asyncio.get_running_loop().time())

    def run(level: Level, *, work: Workload = WORK, **times: float) -> Run:
        target = Slow(server=ModelServer("http://a/v1"), model="stub", **times)  # type: ignore[arg-type]
        with asyncio.Runner(loop_factory=VirtualTime) as runner:
            return runner.run(measure(target, work, level, seed=0, progress=lambda: None))

    return run


def test_known_times_are_recovered(slowly: Callable[..., Run]) -> None:
    prefill, delay = 0.08, 0.01
    found = slowly(Level(concurrency=4), prefill_s=prefill, delay_s=delay, pieces=10)
    summary = found.summary
    assert (summary.completed, summary.failed, summary.output_tokens) == (8, 0, 10)
    assert summary.ttft_s is not None
    assert summary.tpot_s is not None
    assert summary.itl_s is not None
    assert summary.e2e_s is not None
    assert summary.ttft_s.p50 == pytest.approx(prefill + 2 * delay)
    assert summary.tpot_s.p50 == pytest.approx(10 * delay / 9)
    assert summary.itl_s.p50 == pytest.approx(delay)
    assert summary.itl_s.n == 8 * 9
    assert summary.e2e_s.p50 == pytest.approx(prefill + 12 * delay)
    assert summary.e2e_s.n == 8
    # Two waves of four, which is what 4 at once means.
    assert summary.wall_s == pytest.approx(2 * (prefill + 12 * delay))
    assert [row.number for row in found.rows] == list(range(8))
    assert [row.group for row in found.rows] == [prompt.group for prompt in WORK.prompts]
    assert found.tokens_from == "usage"


def test_no_more_run_at_once_than_wanted_and_the_warm_up_is_not_measured() -> None:
    with StubServer(lambda _: Reply("x", prefill_s=0.02)) as stub:
        target = Target(server=ModelServer(stub.url), model="stub")
        level = Level(concurrency=3)
        found = asyncio.run(measure(target, WORK, level, seed=0, progress=lambda: None))
        assert stub.most_running == 3
        assert len(stub.chats) == len(found.rows) + 4
        warm = ["[warm-up]" in one.body["messages"][1]["content"] for one in stub.chats]
        assert warm == [True] * 4 + [False] * 8


def test_the_cached_share_is_the_servers_word_and_a_second_run_finds_nothing_of_the_first() -> None:
    with StubServer(lambda _: "x") as stub:
        level, shares = Level(concurrency=1), []
        for _ in range(2):  # each a benchmark of its own, with marks of its own
            target = Target(server=ModelServer(stub.url), model="stub")
            found = asyncio.run(measure(target, WORK, level, seed=0, progress=lambda: None))
            asked = sum(row.prompt_tokens or 0 for row in found.rows)
            cached = sum(row.cached_tokens or 0 for row in found.rows)
            assert found.cached_from == "usage"
            assert found.summary.cached_share == cached / asked
            shares.append(cached / asked)
        begins = [chat.body["messages"][0]["content"][:11] for chat in stub.chats]
    # 2 of 8 prompts begin a group; the others have all but their question from the cache.
    assert 0.6 < shares[0] < 0.9
    assert shares[1] == pytest.approx(shares[0], abs=0.02)
    assert [begins.count(mark) for mark in dict.fromkeys(begins)] == [10, 10]
    assert all(mark[0] == "[" and mark[9:] == "]\n" for mark in begins)


def test_each_level_of_a_benchmark_starts_from_a_cold_cache() -> None:
    with StubServer(lambda _: "x") as stub:
        target = Target(server=ModelServer(stub.url), model="stub")
        for level in (Level(concurrency=1), Level(rate_per_s=200)):
            asyncio.run(measure(target, WORK, level, seed=0, progress=lambda: None))
        begins = [chat.body["messages"][0]["content"][:11] for chat in stub.chats]
    assert [begins.count(mark) for mark in dict.fromkeys(begins)] == [2 + 8, 5 + 8]


METRICS = """# TYPE vllm:prefix_cache_queries_total counter
vllm:prefix_cache_queries_total{engine="0",model_name="tiny"} 1000.0
vllm:prefix_cache_queries_total{engine="1",model_name="tiny"} 500.0
vllm:prefix_cache_hits_total{engine="0",model_name="tiny"} 400.0
vllm:prefix_cache_hits_total{engine="1",model_name="tiny"} 200.0
vllm:prefix_cache_hits_created{engine="0",model_name="tiny"} 1.8e+09
"""


@pytest.mark.parametrize(
    ("status", "text", "found"),
    [(200, METRICS, (1500, 600)), (404, METRICS, None), (200, "", None), (200, "<html>", None)],
)
def test_the_counters_of_vllm(status: int, text: str, found: tuple[float, float] | None) -> None:
    def answer(request: httpx.Request) -> httpx.Response:
        assert request.url.path == "/metrics"
        return httpx.Response(status, text=text)

    async def ask() -> tuple[float, float] | None:
        target = Target(server=ModelServer("http://a/v1"), model="m")
        async with httpx.AsyncClient(transport=httpx.MockTransport(answer)) as client:
            return await cache_counters(client, target)

    assert asyncio.run(ask()) == found


def test_what_the_counters_grew_by_is_the_share_of_the_level() -> None:
    assert grown((1000, 400), (3000, 1900)) == 0.75
    for before, after in ((None, (1, 1)), ((1, 1), None), ((5, 1), (5, 1)), ((5, 1), (2, 1))):
        assert grown(before, after) is None  # unknown, idle, or a server that began anew


def every_second(fault: Fault) -> Script:
    """Answer the warm-up, and then fail each second request."""
    asked = iter(range(1000))

    def script(_: object) -> Reply | Fault:
        number = next(asked)
        return fault if number > 1 and number % 2 else Reply("fine")

    return script


@pytest.mark.parametrize(
    ("fault", "kind"),
    [
        (Fault(status=503, message="full"), "HTTP 503"),
        (Fault(status=429, retry_after_s=1), "HTTP 429"),
        (Fault(cut="quiet", text="half"), "no end"),
        (Fault(cut="error", text="half"), "error event"),
        (Fault(cut="garbage", text="half"), "not understood"),
        (Fault(cut="reset", text="half"), "broken off"),
        (Fault(cut="stall", text="half"), "timeout"),
    ],
)
def test_failures_are_counted_by_kind_and_are_in_no_figure(fault: Fault, kind: str) -> None:
    # Only the stall waits for the limit; a busy machine must not make the others run into it.
    limit_s = 1.0 if kind == "timeout" else 60.0
    found = run(every_second(fault), Level(concurrency=1), timeout_s=limit_s)
    assert dict(found.summary.errors) == {kind: 4}
    assert (found.summary.completed, found.summary.failed) == (4, 4)
    assert found.summary.e2e_s is not None
    assert found.summary.e2e_s.n == 4
    assert found.summary.e2e_s.p99 < limit_s
    if kind == "HTTP 503":
        assert {row.said for row in found.rows} == {"", "full"}


def test_requests_come_when_they_are_due_however_many_run(slowly: Callable[..., Run]) -> None:
    work = Workload(prompts=WORK.prompts[:4])
    found = slowly(Level(rate_per_s=100), work=work, prefill_s=0.2, delay_s=0, pieces=1)
    due = due_times(4, 100, 0)
    assert [row.start_s for row in found.rows] == pytest.approx(due)
    assert found.summary.wall_s == pytest.approx(due[-1] + 0.2)  # one after another takes 0.8


def test_due_times_are_a_poisson_process_of_the_rate() -> None:
    times = due_times(4001, 50, seed=3)
    gaps = [b - a for a, b in pairwise(times)]
    mean = sum(gaps) / len(gaps)
    assert mean == pytest.approx(1 / 50, rel=0.05)
    assert sum((gap - mean) ** 2 for gap in gaps) / len(gaps) == pytest.approx(mean**2, rel=0.15)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda target: Target(server=target.server, model="other"), "HTTP 404.*--model"),
        (
            lambda target: Target(server=ModelServer("http://127.0.0.1:9/v1"), model="stub"),
            "no connection.*start it",
        ),
    ],
)
def test_a_server_that_answers_nothing_ends_the_benchmark(
    change: Callable[[Target], Target], said: str
) -> None:
    with StubServer() as stub:
        target = change(Target(server=ModelServer(stub.url), model="stub"))
        level = Level(concurrency=1)
        with pytest.raises(ModelServerError, match=said):
            asyncio.run(measure(target, WORK, level, seed=0, progress=lambda: None))


def test_a_missing_key_is_told() -> None:
    with StubServer(api_key="k") as stub:
        target = Target(server=ModelServer(stub.url), model="stub")
        level = Level(concurrency=1)
        with pytest.raises(ModelServerError, match=r"HTTP 401.*RAGKIT_LLM_API_KEY"):
            asyncio.run(measure(target, WORK, level, seed=0, progress=lambda: None))
        target = Target(server=ModelServer(stub.url, "k"), model="stub")
        found = asyncio.run(measure(target, WORK, level, seed=0, progress=lambda: None))
        assert found.summary.failed == 0
