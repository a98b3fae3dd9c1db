"""ragkit.Client over scripted answers: what is sent again, what an error becomes, what breaks off.

The same calls against the real server are in tests/serve/api/test_client_live.py.
"""

from __future__ import annotations

import json
import socket
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from uuid import UUID

import httpx
import pytest

from ragkit.client import Client, ServedAnswer
from ragkit.client.chat import events, pieces
from ragkit.errors import (
    AccessError,
    BusyError,
    IncompleteAnswerError,
    IngestError,
    NotFoundError,
    OverloadedError,
    QueryError,
    RagkitError,
    ServerError,
    UsageError,
)
from ragkit.types import Citation, Reasoning, Turn, Usage

ID = "6f1c2a9b-3f9e-4c55-9d0a-2f6f8f3c7c11"
JOB: dict[str, Any] = {
    "id": 7,
    "collection": "default",
    "name": "a.txt",
    "uri": "upload:a.txt",
    "state": "queued",
    "done": 0,
    "total": 0,
    "attempts": 0,
    "stage": "",
    "reason": "",
    "document": None,
    "created_at": "2026-01-05T09:00:00Z",
    "updated_at": "2026-01-05T09:00:00Z",
}
COMPLETION = {"id": "c", "choices": [{"message": {"content": "25 days"}}]}
Scripted = httpx.Response | Exception


def failed(status: int, message: str = "no", **headers: str) -> httpx.Response:
    return httpx.Response(
        status,
        json={"error": {"message": message, "type": "t", "param": None, "code": None}},
        headers={name.replace("_", "-"): value for name, value in headers.items()},
    )


class Script:
    """A server that gives these answers, one for each request, and notes what it was asked."""

    def __init__(self, *answers: Scripted) -> None:
        self.answers = list(answers)
        self.requests: list[httpx.Request] = []

    def __call__(self, request: httpx.Request) -> httpx.Response:
        request.read()
        self.requests.append(request)
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    @property
    def client(self) -> Client:
        return Client("http://ragkit.test:8080/v1/", "rk_x", transport=httpx.MockTransport(self))


@pytest.fixture(autouse=True)
def slept(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The seconds that were waited, without waiting."""
    waits: list[float] = []
    monkeypatch.setattr("time.sleep", waits.append)
    return waits


def test_a_request_carries_the_key_and_what_was_asked() -> None:
    script = Script(httpx.Response(200, json=COMPLETION))
    answer = script.client.ask(
        "And how long?",
        collection="hr",
        filter={"language": "en"},
        top_k=3,
        mode="dense",
        refusal_threshold=0.5,
        conversation=UUID(ID),
        turns=[Turn("Leave?", "Yes.")],
        keep=True,
    )
    assert (answer.text, answer.id, answer.citations) == ("25 days", "c", ())
    (request,) = script.requests
    assert str(request.url) == "http://ragkit.test:8080/v1/chat/completions"
    assert request.headers["authorization"] == "Bearer rk_x"
    assert json.loads(request.content) == {
        "model": "ragkit",
        "messages": [
            {"role": "user", "content": "Leave?"},
            {"role": "assistant", "content": "Yes."},
            {"role": "user", "content": "And how long?"},
        ],
        "stream": False,
        "store": True,
        "ragkit": {
            "collection": "hr",
            "filter": {"language": "en"},
            "top_k": 3,
            "mode": "dense",
            "refusal_threshold": 0.5,
            "conversation": ID,
        },
    }


@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        (failed(400), QueryError),
        (failed(401), AccessError),
        (failed(403), AccessError),
        (failed(404), NotFoundError),
        (failed(409, retry_after="5"), BusyError),
        (failed(413), UsageError),
        (failed(429), OverloadedError),
        (failed(500), ServerError),
        (failed(502), ServerError),
        (failed(503), ServerError),
    ],
)
def test_an_error_is_ragkits_own_in_the_servers_words(
    answer: httpx.Response, kind: type[RagkitError]
) -> None:
    script = Script(answer)
    with pytest.raises(RagkitError, match=r"^no$") as caught:
        script.client.ask("Why?")
    assert type(caught.value) is kind
    assert len(script.requests) == 1


def test_a_defect_of_the_server_names_the_request() -> None:
    with pytest.raises(ServerError, match=r"^it failed \(request r-1\)$"):
        Script(failed(500, "it failed", x_request_id="r-1")).client.ask("Why?")


@pytest.mark.parametrize(
    "answer",
    [
        httpx.Response(502, text="<h1>Bad Gateway</h1>"),
        httpx.Response(404, json={"detail": "Not Found"}),
        httpx.Response(302, headers={"location": "https://elsewhere.test"}),
        httpx.Response(200, text="<h1>Welcome</h1>"),
        httpx.Response(200, json=[]),
    ],
)
def test_what_is_no_ragkit_server_is_said_to_be_none(answer: httpx.Response) -> None:
    with pytest.raises(ServerError, match=r"check that the address is a ragkit server's"):
        Script(answer).client.ask("Why?")


@pytest.mark.parametrize("status", [429, 503])
def test_who_is_turned_away_with_a_time_asks_again(status: int, slept: list[float]) -> None:
    script = Script(failed(status, retry_after="2"), httpx.Response(200, json=COMPLETION))
    assert script.client.ask("Why?").text == "25 days"
    assert slept == [2.0]


def test_asking_again_ends(slept: list[float]) -> None:
    script = Script(*[failed(503, "full", retry_after="1")] * 9)
    with pytest.raises(OverloadedError, match=r"^full$") as caught:
        script.client.ask("Why?")
    assert caught.value.retry_after_s == 1
    assert len(script.requests) == 4
    assert slept == [1.0, 1.0, 1.0]


def test_a_long_time_is_left_to_the_caller(slept: list[float]) -> None:
    with pytest.raises(OverloadedError) as caught:
        Script(failed(429, retry_after="3600")).client.ask("Why?")
    assert (caught.value.retry_after_s, slept) == (3600, [])


def test_a_question_whose_fate_is_unknown_is_not_asked_again() -> None:
    lost = (
        httpx.ReadError("reset"),
        httpx.RemoteProtocolError("cut"),
        httpx.ReadTimeout("slow"),
        failed(502),
        failed(504),
        failed(503),
    )
    for answer in lost:
        script = Script(answer)
        with pytest.raises(ServerError):
            script.client.ask("Why?", conversation="new")
        assert len(script.requests) == 1
    failing = failed(503, retry_after="5")
    body = json.loads(failing.content)
    body["error"]["code"] = "database"
    script = Script(httpx.Response(503, json=body, headers={"retry-after": "5"}))
    with pytest.raises(OverloadedError):
        script.client.rename_conversation(UUID(ID), "x")
    assert len(script.requests) == 1


def test_reading_is_tried_again_whatever_happened(slept: list[float]) -> None:
    script = Script(
        httpx.ReadError("reset"), failed(502), failed(503), httpx.Response(200, json=JOB)
    )
    assert script.client.job(7).name == "a.txt"
    assert [0.125 <= slept[0] <= 0.25, 0.25 <= slept[1] <= 0.5, 0.5 <= slept[2] <= 1] == [True] * 3


def test_a_server_that_is_not_there_is_tried_again_and_named(slept: list[float]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    with (
        Client(f"http://127.0.0.1:{port}") as client,
        pytest.raises(ServerError, match=rf"127\.0\.0\.1:{port} cannot be reached: start it with"),
    ):
        client.ask("Why?")
    assert len(slept) == 3


@pytest.mark.parametrize("name", ["notes.txt", "笔记.txt"])
def test_one_file_or_text_is_not_taken_apart(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.write_bytes(b"Nobody knows.")
    for given in (path, str(path), (name, b"Nobody knows."), [path], [(name, b"Nobody knows.")]):
        script = Script(httpx.Response(202, json={"data": [JOB]}))
        assert len(script.client.upload("h", given)) == 1
        (request,) = script.requests
        assert request.content.count(b"Nobody knows.") == request.content.count(b'name="file"') == 1
    script = Script(httpx.Response(200, json={"data": []}), httpx.Response(200, json={}))
    with pytest.raises(ServerError):
        script.client.embed(name)
    script.client.rerank("Who?", name)
    sent = [json.loads(request.content) for request in script.requests]
    assert (sent[0]["input"], sent[1]["documents"]) == ([name], [name])


def test_an_upload_is_sent_again_whole_under_one_key(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes(b"first")
    script = Script(
        httpx.ReadError("reset"), failed(504), httpx.Response(202, json={"data": [JOB, JOB]})
    )
    jobs = script.client.upload("h r/1", [path, ("假.txt", b"second")])
    assert [job.id for job in jobs] == [7, 7]
    keys = {request.headers["idempotency-key"] for request in script.requests}
    assert len(keys) == 1
    assert len(keys.pop()) == 36
    for request in script.requests:
        assert request.url.raw_path == b"/v1/collections/h%20r%2F1/documents"
        assert b'name="file"; filename="a.txt"' in request.content
        assert b"first" in request.content
        assert b"second" in request.content


def test_files_that_cannot_be_sent(tmp_path: Path) -> None:
    client = Script().client
    with pytest.raises(NotFoundError, match="there is no file"):
        client.upload("c", [("a", b"x"), tmp_path / "gone"])
    with pytest.raises(UsageError, match="cannot be read: Is a directory"):
        client.upload("c", [tmp_path])
    with pytest.raises(UsageError, match="no file to upload"):
        client.upload("c", [])


def test_listing_goes_through_the_pages() -> None:
    script = Script(
        httpx.Response(200, json={"data": [JOB], "has_more": True, "last_id": "7"}),
        httpx.Response(200, json={"data": [JOB | {"id": 6}], "has_more": False, "last_id": "6"}),
    )
    assert [job.id for job in script.client.jobs(state="done")] == [7, 6]
    asked = [dict(request.url.params) for request in script.requests]
    assert asked == [
        {"limit": "100", "state": "done"},
        {"limit": "100", "after": "7", "state": "done"},
    ]


def test_a_server_that_names_the_same_page_for_ever_is_left() -> None:
    page = {"data": [], "has_more": True, "last_id": "7"}
    script = Script(*[httpx.Response(200, json=page)] * 3)
    assert list(script.client.jobs()) == []
    assert len(script.requests) == 2


@pytest.mark.parametrize(
    "wrong", [{"id": "7"}, {"created_at": "yesterday"}, {"created_at": 7}, {"name": None}]
)
def test_an_answer_that_cannot_be_read(wrong: dict[str, object]) -> None:
    with pytest.raises(ServerError, match="cannot be read as a Job"):
        Script(httpx.Response(200, json=JOB | wrong)).client.job(7)
    without = {name: value for name, value in JOB.items() if name not in wrong}
    with pytest.raises(ServerError, match="cannot be read as a Job"):
        Script(httpx.Response(200, json=without)).client.job(7)


def test_waiting_for_a_job(slept: list[float]) -> None:
    states = [JOB, JOB | {"state": "running"}, JOB | {"state": "done", "document": 3}]
    script = Script(*(httpx.Response(200, json=state) for state in states))
    assert script.client.wait(7).document == 3
    assert slept == pytest.approx([0.1, 0.15])
    wrong = JOB | {"state": "failed", "stage": "parse", "reason": "it is encrypted"}
    with pytest.raises(IngestError, match=r"^parse: it is encrypted \(a\.txt\)$"):
        Script(httpx.Response(200, json=wrong)).client.wait(7)
    stopped = JOB | {"state": "cancelled"}
    with pytest.raises(IngestError, match=r"^cancelled: job 7 \(a\.txt\): upload it again$"):
        Script(httpx.Response(200, json=stopped)).client.wait(7)
    with pytest.raises(BusyError, match=r"^job 7 \(a\.txt\) is queued after 0 s: wait longer"):
        Script(httpx.Response(200, json=JOB)).client.wait(7, timeout_s=0)


@pytest.mark.parametrize("url", ["", "127.0.0.1:8080", "ftp://x", "http://", "http://a b"])
def test_what_is_no_address(url: str) -> None:
    with pytest.raises(UsageError, match="is no server's address"):
        Client(url)


def test_a_key_that_can_be_none_is_not_repeated() -> None:
    for key in ("", "rk_secret\n", "密钥"):
        with pytest.raises(AccessError) as caught:
            Client("http://x", key)
        assert "secret" not in str(caught.value)
    assert repr(Client("http://x", "rk_secret")) == "Client('http://x')"


def test_a_file_is_written_whole_or_not_at_all(tmp_path: Path) -> None:
    def cut() -> Iterator[bytes]:
        yield b"half"
        raise httpx.ReadError("reset")

    target = tmp_path / "a.pdf"
    with pytest.raises(ServerError, match="broke the connection"):
        Script(httpx.Response(200, content=cut())).client.source(3, target)
    assert list(tmp_path.iterdir()) == []
    assert Script(httpx.Response(200, content=b"%PDF")).client.source(3, target) == target
    assert target.read_bytes() == b"%PDF"
    with pytest.raises(UsageError, match="is there already"):
        Script(httpx.Response(200, content=b"new")).client.source(3, target)
    with pytest.raises(UsageError, match="cannot be written: No such file or directory"):
        Script(httpx.Response(200, content=b"new")).client.source(3, tmp_path / "no" / "a")
    assert list(tmp_path.iterdir()) == [target]


def test_a_page_of_an_original_is_written_as_a_picture(tmp_path: Path) -> None:
    script = Script(httpx.Response(200, content=b"\x89PNG"))
    target = script.client.page(3, 2, tmp_path / "page.png")
    assert target.read_bytes() == b"\x89PNG"
    (request,) = script.requests
    assert request.url.path == "/v1/documents/3/pages/2.png"


def test_a_text_is_begun_anew_when_the_document_is_replaced() -> None:
    def piece(version: int, start: int, text: str, chars: int) -> httpx.Response:
        end = start + len(text)
        body = {"version": version, "start": start, "end": end, "chars": chars, "text": text}
        return httpx.Response(200, json=body)

    script = Script(piece(1, 0, "old", 6), piece(2, 3, "d", 4), piece(2, 0, "new", 4))
    script.answers.append(piece(2, 3, "!", 4))
    assert script.client.text(3) == "new!"
    assert [request.url.params["start"] for request in script.requests] == ["0", "3", "0", "3"]
    assert Script(piece(1, 0, "", 0)).client.text(3) == ""
    with pytest.raises(ServerError, match="sent no more of document 3"):
        Script(piece(1, 0, "", 9)).client.text(3)


# Streams

CITATION = {
    "n": 1,
    "document": 7,
    "version": 4,
    "uri": "h.md",
    "title": "H",
    "page": None,
    "start": 0,
    "end": 3,
    "quote": "年假\u2028是",
    "score": 1.5,
    "verdict": "verified",
}


def event(delta: dict[str, object] | None, finish: str | None = None, **rest: object) -> bytes:
    choices = [] if delta is None else [{"index": 0, "delta": delta, "finish_reason": finish}]
    chunk = {"id": "c", "choices": choices} | rest
    return b"data: " + json.dumps(chunk, ensure_ascii=False).encode() + b"\n\n"


STREAM = b"".join(
    [
        event({"role": "assistant", "content": "", "context": {"citations": []}}),
        b": a comment\n\n",
        event({"reasoning": "嗯"}),
        event({"content": "年假\u2028"}),
        event({"content": "是 [1]."}),
        event({"context": {"citations": [CITATION], "refused": False, "conversation": ID}}, "stop"),
        event(None, usage={"prompt_tokens": 3, "completion_tokens": 2, "total_tokens": 5}),
        b"data: [DONE]\n\n",
    ]
)
ANSWER = ServedAnswer(
    text="年假\u2028是 [1].",
    refused=False,
    reason="",
    citations=(Citation(1, 7, "h.md", "H", None, 0, 3, "年假\u2028是", "verified", 4),),
    usage=Usage(3, 2),
    reasoning="嗯",
    id="c",
    conversation=UUID(ID),
)


def test_a_stream_cut_at_every_byte_is_the_same() -> None:
    for at in range(len(STREAM)):
        got = list(pieces([STREAM[:at], STREAM[at:]]))
        assert got == [Reasoning("嗯"), "年假\u2028", "是 [1].", ANSWER]
    assert list(pieces(bytes([byte]) for byte in STREAM))[-1] == ANSWER


def test_events_end_at_line_feeds_with_or_without_carriage_returns() -> None:
    assert list(events([b"data: a\r\n\r", b"\ndata:b\n\ndata: c"])) == ["a", "b"]


def test_a_stream_through_the_client_names_what_it_wants() -> None:
    script = Script(httpx.Response(200, content=STREAM))
    assert list(script.client.stream("Why?"))[-1] == ANSWER
    body = json.loads(script.requests[0].content)
    assert (body["stream"], body["stream_options"]) == (True, {"include_usage": True})


BROKEN: dict[str, tuple[Callable[[], Iterator[bytes]], str]] = {
    "cut": (lambda: iter([STREAM[: STREAM.rindex(b"data: {")][:-400]]), "before it was complete"),
    "no end": (lambda: iter([STREAM.replace(b"data: [DONE]\n\n", b"")]), "before it was complete"),
    "no finish": (
        lambda: iter([event({"content": "a"}), b"data: [DONE]\n\n"]),
        "that is no part of an answer",
    ),
    "error": (
        lambda: iter([event({"content": "a"}), b'data: {"error": {"message": "it died"}}\n\n']),
        "^it died$",
    ),
    "nonsense": (lambda: iter([b"data: {\n\n"]), "that is no part of an answer"),
    "no object": (lambda: iter([b"data: 1\n\n"]), "that is no part of an answer"),
}


@pytest.mark.parametrize("what", BROKEN)
def test_a_stream_that_breaks_off_says_so_with_what_had_come(what: str) -> None:
    chunks, said = BROKEN[what]
    got: list[str | Reasoning | ServedAnswer] = []
    stream = Script(httpx.Response(200, content=chunks())).client.stream("Why?")
    with pytest.raises(IncompleteAnswerError, match=said) as caught:
        got.extend(stream)
    assert not any(isinstance(piece, ServedAnswer) for piece in got)
    assert caught.value.received == "".join(piece for piece in got if isinstance(piece, str))


def test_a_connection_lost_in_a_stream_is_an_incomplete_answer() -> None:
    def lost() -> Iterator[bytes]:
        yield event({"content": "half"})
        raise httpx.ReadError("reset")

    stream = Script(httpx.Response(200, content=lost())).client.stream("Why?")
    assert next(stream) == "half"
    with pytest.raises(IncompleteAnswerError, match="broke the connection") as caught:
        next(stream)
    assert caught.value.received == "half"


def test_a_stream_that_is_turned_away_is_asked_for_again(slept: list[float]) -> None:
    script = Script(failed(503, retry_after="1"), httpx.Response(200, content=STREAM))
    assert list(script.client.stream("Why?"))[-1] == ANSWER
    assert slept == [1.0]
