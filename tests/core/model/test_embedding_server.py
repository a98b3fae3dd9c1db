"""A client of /v1/embeddings: what it sends, tries again, refuses and says."""

import threading
from collections.abc import Callable

import httpx
import numpy as np
import pytest

from ragkit.errors import ModelServerBusyError, ModelServerError
from ragkit.model import embedding_server
from ragkit.model.embedding_server import EmbeddingServer
from ragkit.model.failover import Tries
from ragkit.model.server import Served
from ragkit.system.cancellation import Cancellation, WorkCancelledError
from ragkit.testing.stub_server.server import Fault, StubServer

QUICK = Tries(backoff_s=0.001)
ONE = {"data": [{"index": 0, "embedding": [1.0, 0.0]}]}


def scripted(*replies: httpx.Response | Exception) -> tuple[EmbeddingServer, list[httpx.Request]]:
    """Make a client of a server that gives these replies in turn, the last one for ever."""
    asked: list[httpx.Request] = []

    def reply(request: httpx.Request) -> httpx.Response:
        answer = replies[min(len(asked), len(replies) - 1)]
        asked.append(request)
        if isinstance(answer, Exception):
            raise answer
        return answer

    transport = httpx.MockTransport(reply)
    return EmbeddingServer("http://me:hidden@host/v1", tries=QUICK, transport=transport), asked


def test_texts_and_key_are_sent_to_the_servers_path() -> None:
    with StubServer(models=["m"], api_key="secret") as stub:
        server = EmbeddingServer(stub.url + "/embeddings/", api_key="secret")
        vectors = server.embed("m", ["cats", "a cat"]).vectors
        models = server.models()
    assert vectors.shape == (2, 256)
    assert stub.requests[0].path == "/v1/embeddings"
    assert stub.requests[0].body == {
        "model": "m", "input": ["cats", "a cat"], "encoding_format": "float",
    }  # fmt: skip
    assert models == [Served("m", 8192)]


def test_a_busy_server_is_asked_again() -> None:
    busy = httpx.Response(503, headers={"retry-after": "0"})
    server, asked = scripted(busy, httpx.Response(429), httpx.Response(200, json=ONE))
    assert np.array_equal(server.embed("m", ["a"]).vectors, [[1.0, 0.0]])
    assert len(asked) == 3


def test_a_server_that_stays_busy_says_when_to_ask_again() -> None:
    server, asked = scripted(httpx.Response(503, headers={"retry-after": "120"}, text="queue"))
    with pytest.raises(ModelServerBusyError) as caught:
        server.embed("m", ["a"])
    assert (caught.value.status, caught.value.retry_after_s) == (503, 120.0)
    assert str(caught.value) == (
        "embedding server http://***@host/v1 takes no more requests now (503; queue): try again in"
        " 120 s"
    )
    assert len(asked) == 1  # it asks for more patience than there is


def test_a_broken_connection_is_tried_again_and_then_named() -> None:
    server, asked = scripted(httpx.ReadError("reset"), httpx.Response(200, json=ONE))
    assert len(server.embed("m", ["a"]).vectors) == 1
    server, asked = scripted(httpx.ConnectError("refused\nby peer"))
    with pytest.raises(ModelServerError) as caught:
        server.embed("m", ["a"])
    assert str(caught.value) == (
        "embedding server http://***@host/v1 cannot be reached (refused by peer): start it, or"
        " correct RAGKIT_EMBED_URL"
    )
    assert len(asked) == 3


@pytest.mark.parametrize(
    ("reply", "problem"),
    [
        (httpx.ReadTimeout("silence"), "did not answer within 60 s: see its load"),
        (
            httpx.Response(401),
            "denies access (401; no API key was given): set RAGKIT_EMBED_API_KEY",
        ),
        (
            httpx.Response(404, text="no m"),
            "has no such path or model (404; no m): RAGKIT_EMBED_URL",
        ),
        (httpx.Response(400, text="too\nlong"), "rejects the request (400; too long): see its log"),
        (httpx.Response(302, headers={"location": "http://evil/"}), "rejects the request (302"),
        (httpx.Response(200, text="<html>"), "gave no proper answer (Expecting value"),
        (httpx.Response(200, json=[]), "gave no proper answer (it holds no list of embeddings)"),
    ],
)
def test_what_trying_again_does_not_help_is_said_at_once(
    reply: httpx.Response | Exception, problem: str
) -> None:
    server, asked = scripted(reply)
    with pytest.raises(ModelServerError) as caught:
        server.embed("m", ["a"])
    assert str(caught.value).startswith(f"embedding server http://***@host/v1 {problem}")
    assert "\n" not in str(caught.value)
    assert len(asked) == 1


def test_a_key_in_an_error_is_masked() -> None:
    transport = httpx.MockTransport(lambda request: httpx.Response(400, text="bad key s3cret"))
    server = EmbeddingServer("http://host/v1", api_key="s3cret", transport=transport)
    with pytest.raises(ModelServerError, match=r"bad key \*\*\*"):
        server.embed("m", ["a"])


def test_an_answer_without_end_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(embedding_server, "_LIST_BYTES", 100)
    server, _ = scripted(httpx.Response(200, content=b" " * 600_000))
    with pytest.raises(ModelServerError, match="sent more than 512,100 bytes: see its log"):
        server.embed("m", ["a"])


def test_cancelled_work_ends_in_the_middle_of_a_pause() -> None:
    fault: Callable[..., Fault] = lambda texts: Fault(status=503, retry_after_s=19)  # noqa: E731
    ended = threading.Event()
    cancellation = Cancellation()

    def work() -> None:
        with cancellation, pytest.raises(WorkCancelledError):
            EmbeddingServer(stub.url).embed("stub", ["a"])
        ended.set()

    with StubServer(embed=fault) as stub:
        thread = threading.Thread(target=work)
        thread.start()
        while not stub.requests:
            thread.join(0.01)
        cancellation.cancel()
        thread.join(10)
    assert ended.is_set()
    assert len(stub.requests) == 1


@pytest.mark.parametrize(
    ("reply", "limit"),
    [
        (httpx.Response(200, json={"model_id": "m", "max_input_length": 512}), 512),
        (httpx.Response(404), None),
        (httpx.Response(200, json={"max_input_length": "many"}), None),
    ],
)
def test_the_limit_of_text_embeddings_inference(reply: httpx.Response, limit: int | None) -> None:
    server, asked = scripted(reply)
    assert server.input_tokens() == limit
    assert asked[0].url.path == "/info"
