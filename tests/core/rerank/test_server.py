"""Rerankers over HTTP, against a scripted server on this machine."""

import json
import socket
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import httpx
import pytest

from ragkit.errors import ModelServerBusyError, ModelServerError
from ragkit.rerank import server as server_module
from ragkit.rerank.server import ServerReranker
from ragkit.testing import FakeReranker, RerankerConformance

Reply = tuple[int, bytes] | None


class Scripted:
    """A server whose replies a test writes, and what was asked of it."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, dict[str, Any], dict[str, str]]] = []
        self.reply: Callable[[str, dict[str, Any]], Reply] = documents
        self.drop = 0  # connections that are closed without an answer
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["content-length"])))
                if outer.drop:
                    outer.drop -= 1
                    self.close_connection = True
                    self.connection.shutdown(socket.SHUT_RDWR)
                    return
                outer.asked.append((self.path, body, dict(self.headers)))
                reply = outer.reply(self.path, body)
                if reply is None:  # silence
                    outer.released.wait(60)
                    return
                status, content = reply
                self.send_response(status)
                self.send_header("content-length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

            def log_message(self, format: str, *args: Any) -> None:
                pass

        self.released = threading.Event()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.base = f"http://127.0.0.1:{self._server.server_port}"
        threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()

    def close(self) -> None:
        self.released.set()
        self._server.shutdown()
        self._server.server_close()


def documents(path: str, body: dict[str, Any]) -> Reply:
    """Answer as vLLM does, best first, with the texts; without documents as pydantic does."""
    if path not in ("/rerank", "/v1/rerank"):
        return 404, b'{"detail": "Not Found"}'
    if "documents" not in body:
        return 400, b'{"error": {"message": "documents: field required"}}'
    scores = FakeReranker().rerank(body["query"], body["documents"])
    rows: list[dict[str, Any]] = [
        {"index": n, "relevance_score": score, "document": {"text": body["documents"][n]}}
        for n, score in enumerate(scores)
    ]
    rows.sort(key=lambda row: -row["relevance_score"])
    return 200, json.dumps({"id": "rerank-1", "model": "m", "results": rows}).encode()


def texts(path: str, body: dict[str, Any]) -> Reply:
    """Answer as text-embeddings-inference does."""
    if path != "/rerank":
        return 404, b""
    if "texts" not in body:
        return 422, b"Failed to deserialize the JSON body: missing field `texts`"
    if len(body["texts"]) > 32:
        return 422, b'{"error": "batch size > maximum allowed batch size 32"}'
    scores = FakeReranker().rerank(body["query"], body["texts"])
    rows = [{"index": n, "score": score} for n, score in enumerate(scores)]
    return 200, json.dumps(sorted(rows, key=lambda row: -float(row["score"]))).encode()


def only_v1(path: str, body: dict[str, Any]) -> Reply:
    return documents(path, body) if path == "/v1/rerank" else (404, b"")


@pytest.fixture
def server() -> Iterator[Scripted]:
    made = Scripted()
    yield made
    made.close()


PASSAGES = ["cats sleep", "oil is cheap", "how long do cats sleep", "股市"]
WANTED = list(FakeReranker().rerank("how long do cats sleep", PASSAGES))


@pytest.mark.parametrize(
    ("path", "reply", "used"),
    [
        ("", documents, "/rerank"),
        ("", texts, "/rerank"),
        ("", only_v1, "/v1/rerank"),
        ("/", texts, "/rerank"),
        ("/v1", documents, "/v1/rerank"),
        ("/v1/rerank", documents, "/v1/rerank"),
        ("/rerank", texts, "/rerank"),
    ],
)
def test_the_form_is_what_the_server_has(
    server: Scripted, path: str, reply: Callable[..., Reply], used: str
) -> None:
    server.reply = reply
    reranker = ServerReranker(server.base + path, model="m", api_key="secret")
    reranker.load()
    assert list(reranker.rerank("how long do cats sleep", PASSAGES)) == WANTED
    asked, body, headers = server.asked[-1]
    assert asked == used
    assert headers["authorization"] == "Bearer secret"
    if reply is texts:
        assert body == {
            "query": "how long do cats sleep", "texts": PASSAGES, "raw_scores": False,
            "truncate": True,
        }  # fmt: skip
    else:
        assert body == {"model": "m", "query": "how long do cats sleep", "documents": PASSAGES}
    before = len(server.asked)
    reranker.rerank("cats", PASSAGES)
    assert len(server.asked) == before + 1  # what was found out is kept


def test_batches_are_of_bounded_size_and_in_order(
    server: Scripted, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.reply = texts
    passages = [f"cats {'x ' * (n % 7)}{n}" for n in range(70)]
    reranker = ServerReranker(server.base)
    wanted = FakeReranker().rerank("cats", passages)
    assert list(reranker.rerank("cats", passages)) == list(wanted)
    assert [len(body["texts"]) for _, body, _ in server.asked if "texts" in body] == [1, 32, 32, 6]
    monkeypatch.setattr(server_module, "BATCH_CHARS", 20)
    server.asked.clear()
    assert list(reranker.rerank("cats", ["a" * 15, "cats", "b" * 90, "c"])) == [0, 1, 0, 0]
    assert [len(body["texts"]) for _, body, _ in server.asked] == [2, 1, 1]


def test_a_connection_that_fails_is_tried_once_more(server: Scripted) -> None:
    reranker = ServerReranker(server.base)
    reranker.load()
    server.drop = 1
    assert list(reranker.rerank("how long do cats sleep", PASSAGES)) == WANTED
    server.drop = 2
    with pytest.raises(
        ModelServerError, match=r"reranker http://127.0.0.1:\d+ broke the connection"
    ):
        reranker.rerank("cats", PASSAGES)
    assert server.drop == 0


def test_a_server_that_is_down_is_named_without_its_password() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    reranker = ServerReranker(f"http://me:hidden@127.0.0.1:{port}")
    with pytest.raises(ModelServerError, match=f"127.0.0.1:{port} cannot be reached") as caught:
        reranker.rerank("cats", ["a"])
    assert "hidden" not in str(caught.value) + reranker.name


def test_silence_ends_with_the_timeout(server: Scripted) -> None:
    reranker = ServerReranker(server.base, timeout_s=0.2)
    reranker.load()
    server.reply = lambda path, body: None
    with pytest.raises(ModelServerError, match=r"did not answer within 0\.2 s"):
        reranker.rerank("cats", ["a"])


class Hanging(httpx.BaseTransport):
    """Requests that time out when five of them wait at once; until it is told to send them."""

    def __init__(self) -> None:
        self.waiting = threading.Barrier(5)
        self.network: httpx.HTTPTransport | None = None

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        if self.network is None:
            self.waiting.wait(60)
            raise httpx.ReadTimeout("silence", request=request)
        return self.network.handle_request(request)


def test_callers_of_a_server_that_hangs_wait_side_by_side(server: Scripted) -> None:
    transport = Hanging()
    reranker = ServerReranker(server.base, timeout_s=1.0, transport=transport)
    with ThreadPoolExecutor(5) as pool:
        asked = [pool.submit(reranker.rerank, "cats", ["a"]) for _ in range(5)]
        errors = [call.exception() for call in asked]
    assert [str(error).partition(" did ")[2] for error in errors] == [
        "not answer within 1 s: see its load"
    ] * 5
    transport.network = httpx.HTTPTransport()
    assert list(reranker.rerank("how long do cats sleep", PASSAGES)) == WANTED


@pytest.mark.parametrize(
    "reply",
    [
        documents,
        lambda path, body: (200, b"<html>"),
        lambda path, body: (500, b""),
        lambda path, body: (404, b""),
    ],
)
def test_only_the_connection_that_is_kept_stays_open(
    server: Scripted, reply: Callable[..., Reply], monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[httpx.Client] = []

    class Noted(httpx.Client):
        def __init__(self, **options: Any) -> None:
            super().__init__(**options)
            made.append(self)

    monkeypatch.setattr(httpx, "Client", Noted)
    together = threading.Barrier(3)

    def first_together(path: str, body: dict[str, Any]) -> Reply:
        if len(server.asked) <= 3:
            together.wait(60)
        return reply(path, body)

    server.reply = first_together
    reranker = ServerReranker(server.base)
    with ThreadPoolExecutor(3) as pool:
        errors = [call.exception() for call in [pool.submit(reranker.load) for _ in range(3)]]
    if reply is documents:
        assert errors == [None] * 3
        assert sorted(client.is_closed for client in made) == [False, True, True]
        assert list(reranker.rerank("how long do cats sleep", PASSAGES)) == WANTED
    else:
        assert all(isinstance(error, ModelServerError) for error in errors)
        assert [client.is_closed for client in made] == [True] * 3


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (b"<html>", "no proper answer"),
        (b"{}", "no list of results"),
        (b'{"results": [{"index": 0, "relevance_score": 1}]}', "those of 2 passages"),
        (b'[{"index": 0, "score": 1}, {"index": 0, "score": 2}]', "those of 2 passages"),
        (b'[{"index": 0, "score": 1}, {"index": 2, "score": 2}]', "those of 2 passages"),
        (b'[{"index": 0, "score": 1}, {"index": -1, "score": 2}]', "those of 2 passages"),
        (b'[{"index": 0, "score": NaN}, {"index": 1, "score": 2}]', "no finite score"),
        (b'[{"index": 0, "score": 1e999}, {"index": 1, "score": 2}]', "no finite score"),
        (b'[{"index": 0, "score": "1"}, {"index": 1, "score": 2}]', "no finite score"),
        (b'[{"index": true, "score": 1}, {"index": 0, "score": 2}]', "no index"),
        (b'[{"score": 1}, {"index": 1, "score": 2}]', "no index"),
        (b"[1, 2]", "is no object"),
        (b"[" * 60_000, "no proper answer"),
        (b"\xff\xfe", "no proper answer"),
        (b"x" * 70_000, "sent more than"),
    ],
)
def test_an_answer_that_cannot_be_one_is_an_error(
    server: Scripted, answer: bytes, said: str
) -> None:
    reranker = ServerReranker(server.base)
    reranker.load()
    server.reply = lambda path, body: (200, answer)
    with pytest.raises(ModelServerError, match=said) as caught:
        reranker.rerank("cats", ["a", "b"])
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("status", "said"),
    [
        (401, r"denies access \(401; the API key is wrong\): set RAGKIT_RERANKER_API_KEY"),
        (429, r"429; too many \*\*\*"),
        (500, "500; too many"),
        (307, "307; too many"),
        (404, "404; too many"),
    ],
)
def test_a_refusal_is_told_in_the_servers_words(server: Scripted, status: int, said: str) -> None:
    server.reply = lambda path, body: (status, b"too many\nsecret")
    with pytest.raises(ModelServerError, match=said) as caught:
        ServerReranker(server.base, api_key="secret").load()
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize("status", [429, 502, 503])
def test_a_server_that_is_busy_for_a_moment_is_asked_once_more(
    server: Scripted, status: int
) -> None:
    reranker = ServerReranker(server.base)
    reranker.load()
    server.asked.clear()
    server.reply = lambda path, body: (
        documents(path, body) if len(server.asked) > 1 else (status, b"")
    )
    assert list(reranker.rerank("how long do cats sleep", PASSAGES)) == WANTED
    assert len(server.asked) == 2


@pytest.mark.parametrize("status", [429, 503])
def test_a_server_that_is_busy_says_when_to_ask_again(status: int) -> None:
    def answer(request: httpx.Request) -> httpx.Response:
        return httpx.Response(status, headers={"retry-after": "40"})

    reranker = ServerReranker("http://reranker", transport=httpx.MockTransport(answer))
    with pytest.raises(ModelServerBusyError) as caught:
        reranker.load()
    assert (caught.value.status, caught.value.retry_after_s) == (status, 40)


class TestConformance(RerankerConformance):
    @pytest.fixture
    def reranker(self, server: Scripted) -> ServerReranker:
        return ServerReranker(server.base)
