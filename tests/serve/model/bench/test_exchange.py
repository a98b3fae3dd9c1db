"""What is read out of an answer and its arrivals: times, tokens, and every way to fail."""

import asyncio
import json

import pytest

from ragkit.model.server import ModelServer
from ragkit_serve.model.bench.exchange import Heard, ask, row
from ragkit_serve.model.bench.load import Target
from ragkit_serve.model.bench.summary import Row
from ragkit_serve.stub import Fault, Reply, StubServer


def event(content: str = "", reason: str | None = None, **delta: str) -> bytes:
    choice = {"delta": {"content": content, **delta}, "finish_reason": reason}
    return b"data: " + json.dumps({"choices": [choice]}).encode() + b"\n\n"


def heard(*reads: tuple[float, bytes], **options: object) -> Row:
    return row(Heard(10.0, list(reads), 200, ended=19.0, **options), 3, 1, began=8.0)  # type: ignore[arg-type]


USAGE = (
    b'data: {"choices": [], "usage": {"prompt_tokens": 40, "completion_tokens": 5,'
    b' "prompt_tokens_details": {"cached_tokens": 32}}}\n\ndata: [DONE]\n\n'
)


def test_times_and_tokens_of_an_answer() -> None:
    got = heard(
        (10.5, event("")),  # the role: no token yet
        (11.0, event("Four")),
        (11.5, event(" days") + event(".")),
        (12.0, event("", "stop")),
        (12.5, USAGE),
    )
    assert got == Row(
        number=3, group=1, start_s=2.0, e2e_s=2.0, ttft_s=1.0, gaps_s=(0.5, 0.0),
        prompt_tokens=40, output_tokens=5, cached_tokens=32,
    )  # fmt: skip
    assert got.tpot_s == 0.25  # (2.0 - 1.0) / (5 - 1)


def test_without_usage_pieces_are_counted_and_reasoning_is_output_too() -> None:
    got = heard((11.0, event("", reasoning="hm")), (12.0, event("Four")), (12.0, event("", "stop")))
    assert (got.output_tokens, got.prompt_tokens, got.cached_tokens) == (2, None, None)
    assert (got.ttft_s, got.tpot_s) == (1.0, 1.0)


def test_an_event_in_two_reads_arrives_with_its_end() -> None:
    one = event("Four", "stop")
    got = heard((11.0, one[:20]), (13.0, one[20:]))
    assert (got.ttft_s, got.e2e_s, got.tpot_s) == (3.0, 3.0, None)


def test_an_answer_of_no_text_ends_all_the_same() -> None:
    got = heard((11.0, event("", "stop")))
    assert (got.error, got.ttft_s, got.output_tokens) == ("", 1.0, 0)


@pytest.mark.parametrize(
    ("data", "error"),
    [
        (b"", "no answer"),
        (b"<html>", "no end"),
        (event("Four"), "no end"),
        (event("Four") + b"data: [DONE]\n\n", "no end"),
        (b'data: {"error": {"message": "out of\\nmemory"}}\n\n', "error event"),
        (b"data: {\n\n", "not understood"),
        (b"data: 1\n\n", "not understood"),
        (b'data: {"choices": 1}\n\n', "not understood"),
    ],
)
def test_what_is_no_answer_is_named(data: bytes, error: str) -> None:
    got = heard(*[(11.0, data)] if data else [])
    assert (got.error, got.ttft_s, got.e2e_s) == (error, None, 9.0)
    assert "\n" not in got.said


def measured(server: StubServer, *, timeout_s: float = 5.0, url: str = "") -> Row:
    async def once() -> Row:
        target = Target(server=ModelServer(url or server.url, "key"), model="stub")
        body = {"model": "stub", "messages": [{"role": "user", "content": "Hi"}], "stream": True}
        async with target.client() as client:
            got = await ask(client, target.url, json.dumps(body).encode(), timeout_s)
        return row(got, 0, 0, got.sent)

    return asyncio.run(once())


@pytest.mark.parametrize(
    ("fault", "error"),
    [
        (Fault(status=503, message="queue full"), "HTTP 503"),
        (Fault(cut="reset", text="Four"), "broken off"),
        (Fault(cut="quiet", text="Four"), "no end"),
        (Fault(cut="stall", text="Four"), "timeout"),
        (Fault(cut="error", text="Four"), "error event"),
        (Fault(cut="garbage", text="Four"), "not understood"),
        (Fault(hang=True), "timeout"),
    ],
)
def test_every_failure_of_a_server_has_a_kind(fault: Fault, error: str) -> None:
    with StubServer(lambda messages: fault) as server:
        got = measured(server, timeout_s=0.5 if error == "timeout" else 60)
    assert got.error == error
    assert got.said == ("queue full" if fault.status == 503 else got.said)


def test_nobody_there() -> None:
    with StubServer() as server:
        got = measured(server, url="http://127.0.0.1:1/v1")
    assert got.error == "no connection"


def test_a_real_stream_is_read_as_it_was_scripted() -> None:
    with StubServer(lambda messages: Reply("word " * 5, delay_s=0.02)) as server:
        got = measured(server)
    assert got.error == ""
    assert got.output_tokens == 6  # and the last space
    assert len(got.gaps_s) == 5
