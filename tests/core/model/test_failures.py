"""Each failure of a server is one line with its remedy, and is tried again only when that helps."""

import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack
from functools import partial

import pytest

from ragkit.errors import IncompleteAnswerError, ModelServerBusyError, ModelServerError
from ragkit.model import complete
from ragkit.model.failover import Tries
from ragkit.model.failures import retry_after_s
from ragkit.model.served import ServedModel
from ragkit.model.server import ModelServer
from ragkit.testing.stub_server.server import Fault, Reply, Script, StubServer
from ragkit.types import Message
from ragkit.upkeep.examine_model import probe

ASKED = [Message("user", "How long?")]
QUICK = Tries(rounds=3, backoff_s=0.01, longest_wait_s=2.0)


def said(script: Script, *, timeout_s: float = 60.0, asked: int) -> str:
    """Return what follows the server's name in the error, having counted the requests."""
    with StubServer(script) as server, pytest.raises(ModelServerError) as caught:
        complete(ServedModel([server.url], "stub", timeout_s=timeout_s, tries=QUICK), ASKED)
    assert not isinstance(caught.value, IncompleteAnswerError)
    assert len(server.chats) == asked
    message = str(caught.value)
    assert "\n" not in message
    assert message.startswith(f"language-model server {server.url}")
    return message.removeprefix(f"language-model server {server.url}")


@pytest.mark.parametrize(
    ("fault", "asked", "expected"),
    [
        (
            Fault(status=401), 1,
            " denies access (401; no API key was given): set RAGKIT_LLM_API_KEY",
        ),
        (
            Fault(status=429, message="slow down", retry_after_s=30), 1,
            " takes no more requests now (429; slow down): try again in 30 s",
        ),
        (
            Fault(status=429, message="slow down", retry_date_s=900.9), 1,
            " takes no more requests now (429; slow down): try again in 900 s",
        ),
        (
            Fault(status=429, message=""), 3,
            " takes no more requests now (429): try again later",
        ),
        (
            Fault(status=500, message="a\nb\x1b[31m"), 3,
            " failed (500; a b [31m): see its log, or try again later",
        ),
        (
            Fault(status=503, message="queue full"), 3,
            " takes no more requests now (503; queue full): try again later",
        ),
        (
            Fault(status=400, message="maximum context length is 512"), 1,
            " rejects the request (400; maximum context length is 512): if it is too long, use a"
            " smaller context budget or serve the model with a longer context",
        ),
        (
            Fault(cut="reset"), 3,
            " broke the connection before its answer was complete: see its log, then ask again",
        ),
        (
            Fault(cut="quiet"), 3,
            " stopped in the middle of its answer: see its log, then ask again",
        ),
        (
            Fault(malformed=True), 3,
            " gave no proper OpenAI-style answer (JSONDecodeError): see its log, and check that"
            " RAGKIT_LLM_URL is such an API's base, usually ending in /v1",
        ),
    ],
)  # fmt: skip
def test_before_an_answer_has_begun(fault: Fault, asked: int, expected: str) -> None:
    shown = said(lambda messages: fault, asked=asked)
    assert shown.replace("in 901 s", "in 900 s") == expected


@pytest.mark.parametrize("fault", [Fault(hang=True), Fault(cut="stall"), Fault(cut="drip")])
def test_silence_is_bounded_and_not_asked_for_again(fault: Fault) -> None:
    assert said(lambda messages: fault, timeout_s=0.2, asked=1) == (
        " sent nothing for 0.2 s: see its load, or allow it a longer timeout"
    )


@pytest.mark.parametrize(
    "fault",
    [
        Fault(status=503),
        Fault(status=500),  # what vLLM says while it shuts down
        Fault(status=429, retry_after_s=0),
        Fault(status=429, retry_date_s=0.9),
        Fault(cut="reset"),
        Fault(cut="quiet"),
        Fault(cut="error"),
        Fault(cut="garbage"),
        Fault(malformed=True),
    ],
)
def test_a_passing_failure_is_bridged(fault: Fault) -> None:
    answers: Iterator[str | Fault] = iter([fault, "It is 25 days."])
    with StubServer(lambda messages: next(answers)) as server:
        model = ServedModel([server.url], "stub", timeout_s=60, tries=QUICK)
        assert complete(model, ASKED) == "It is 25 days."
    assert len(server.chats) == 2


def test_retry_after_is_waited_for() -> None:
    answers: Iterator[Fault | Reply] = iter([Fault(status=429, retry_after_s=1), Reply("Yes.")])
    with StubServer(lambda messages: next(answers)) as server:
        began = time.monotonic()
        assert complete(ServedModel([server.url], "stub", tries=QUICK), ASKED) == "Yes."
        assert len(server.chats) == 2
    assert time.monotonic() - began > 0.9


@pytest.mark.parametrize(
    ("header", "seconds"),
    [
        ("0", 0), ("7", 7), ("1.5", 1.5), ("-1", 0), ("", 0), ("soon", 0), ("9" * 40, 0),
        ("Fri, 31 Dec 1999 23:59:59 GMT", 0), ("Fri, 99 Dec 1999", 0), ("٣", 0),
    ],
)  # fmt: skip
def test_retry_after_as_seconds_or_nonsense(header: str, seconds: float) -> None:
    assert retry_after_s(header) == seconds


def test_unknown_model_lists_those_served() -> None:
    with StubServer(models=("qwen", "llama")) as server, pytest.raises(ModelServerError) as caught:
        complete(ServedModel([server.url], "stub"), ASKED)
    assert str(caught.value) == (
        f"language-model server {server.url} does not serve 'stub' but qwen, llama:"
        " set RAGKIT_LLM_MODEL to one it serves"
    )


def test_url_without_the_api_path() -> None:
    with StubServer() as server:
        url = server.url.removesuffix("/v1")
        with pytest.raises(ModelServerError, match=r"no such path \(404\): .* ending in /v1"):
            complete(ServedModel([url], "stub"), ASKED)


def test_wrong_key_is_not_repeated_to_the_user() -> None:
    with StubServer(api_key="right") as server, pytest.raises(ModelServerError) as caught:
        complete(ServedModel([server.url], "stub", api_key="sk-secret"), ASKED)
    assert str(caught.value).endswith("(401; the API key is wrong): set RAGKIT_LLM_API_KEY")
    echo = Fault(status=400, message="bad key sk-secret")
    with StubServer(lambda messages: echo) as server, pytest.raises(ModelServerError) as caught:
        complete(ServedModel([server.url], "stub", api_key="sk-secret"), ASKED)
    assert "400; bad key ***" in str(caught.value)
    assert "sk-secret" not in repr(ModelServer("http://h/v1", "sk-secret"))


def test_right_key_is_sent() -> None:
    with StubServer(api_key="right") as server:
        assert complete(ServedModel([server.url], "stub", api_key="right"), ASKED)
        assert probe(server.url, "right", timeout_s=5) == ["stub"]


def test_refused_connection_masks_credentials(unused_port: int) -> None:
    url = f"http://ann:pw@127.0.0.1:{unused_port}/v1"
    shown = url.replace("ann:pw", "***")
    remedy = (
        f"language-model server {shown} refuses connections: start it, or correct RAGKIT_LLM_URL"
    )
    with pytest.raises(ModelServerError) as caught:
        complete(ServedModel([url], "stub", tries=QUICK), ASKED)
    assert str(caught.value) == remedy
    with pytest.raises(ModelServerError) as caught:
        probe(url, timeout_s=5)
    assert str(caught.value) == remedy
    assert ModelServer("https://h/v1?key=abc&b=c").shown == "https://h/v1?***"


def test_unresolved_host(monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown(*args: object, **kwargs: object) -> list[object]:
        raise socket.gaierror(-2, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", unknown)
    with pytest.raises(ModelServerError, match="host name that does not resolve: correct RAGKIT"):
        probe("http://nowhere.invalid:8000/v1", timeout_s=5)


@pytest.mark.parametrize(
    ("faults", "status", "wait_s"),
    [
        ([Fault(status=429, retry_after_s=40)], 429, 40),
        ([Fault(status=503)], 503, 0),
        ([Fault(status=429, retry_after_s=40), Fault(status=503, retry_after_s=30)], 503, 30),
        ([Fault(status=500), Fault(status=503, retry_after_s=30)], 503, 30),
    ],
)
def test_a_busy_server_among_those_that_fail_says_when_to_ask_again(
    faults: list[Fault], status: int, wait_s: float
) -> None:
    with ExitStack() as stack:
        stubs = [stack.enter_context(StubServer(partial(_always, fault))) for fault in faults]
        model = ServedModel([stub.url for stub in stubs], "stub", tries=QUICK)
        with pytest.raises(ModelServerBusyError) as caught:
            complete(model, ASKED)
    assert (caught.value.status, caught.value.retry_after_s) == (status, wait_s)
    assert stubs[0].url in str(caught.value)  # its owner is told, at the command line


def _always(fault: Fault, messages: object) -> Fault:
    return fault


def test_a_server_that_merely_fails_is_not_busy() -> None:
    with (
        StubServer(lambda messages: Fault(status=500)) as stub,
        pytest.raises(ModelServerError) as caught,
    ):
        complete(ServedModel([stub.url], "stub", tries=QUICK), ASKED)
    assert type(caught.value) is ModelServerError
