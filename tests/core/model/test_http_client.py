"""The client that servers of embeddings and scores share: what it says, tries again and closes."""

import socket
import ssl

import httpx
import pytest

from ragkit.errors import ModelServerError
from ragkit.model.failover import Tries
from ragkit.model.http_client import HttpClient, ServerNames, StatusError

NAMES = ServerNames(
    server="thing server",
    url_setting="THING_URL",
    key_setting="THING_KEY",
    address="a thing's address",
    not_found="has no such thing",
    found_by="THING_URL must be one",
)
URL = "http://host/things"


def client_of(*replies: httpx.Response, rounds: int = 3) -> tuple[HttpClient, list[httpx.Request]]:
    """Make a client of a server that gives these replies in turn, the last one for ever."""
    asked: list[httpx.Request] = []

    def reply(request: httpx.Request) -> httpx.Response:
        asked.append(request)
        return replies[min(len(asked), len(replies)) - 1]

    client = HttpClient(
        NAMES, URL, api_key="s3cret-key", tries=Tries(rounds=rounds, backoff_s=0.001),
        transport=httpx.MockTransport(reply),
    )  # fmt: skip
    return client, asked


@pytest.mark.parametrize(
    ("status", "words", "message"),
    [
        (400, "too\nlong", "rejects the request (400; too long): see its log"),
        (403, "no", "denies access (403; the API key is wrong): set THING_KEY"),
        (404, "", "has no such thing (404): THING_URL must be one"),
        (405, "no", "has no such thing (405; no): THING_URL must be one"),
        (500, "oops", "failed (500; oops): see its load and its log"),
        (429, "", "takes no more requests now (429): try again later"),
        (400, '{"error": {"message": "too long", "code": 400}}', "rejects the request (400; too"),
        (400, '{"detail": "too long"}', "rejects the request (400; too long): see its log"),
        (400, '{"error": "too long", "error_type": "x"}', "rejects the request (400; too long)"),
        (400, '{"detail": [{"loc": 1}]}', 'rejects the request (400; {"detail": [{"loc": 1}]})'),
    ],
)
def test_a_status_is_told_with_its_remedy(status: int, words: str, message: str) -> None:
    client, asked = client_of(httpx.Response(status, text=words))
    with pytest.raises(ModelServerError) as caught:
        client.post(URL, b"{}", 1000)
    assert str(caught.value).startswith(f"thing server {URL} {message}")
    assert len(asked) == (3 if status in (429, 500) else 1)
    assert isinstance(caught.value, StatusError) == (status not in (429, 500))


@pytest.mark.parametrize(
    ("cause", "message"),
    [
        (socket.gaierror(-2, "unknown"), "has a host name that does not resolve: correct THING_"),
        (ssl.SSLError("WRONG_VERSION"), "cannot be spoken to over TLS: check its certificate, or"),
    ],
)
def test_an_address_that_no_try_can_reach_is_tried_once(cause: OSError, message: str) -> None:
    asked: list[httpx.Request] = []

    def reply(request: httpx.Request) -> httpx.Response:
        asked.append(request)
        raise httpx.ConnectError(str(cause)) from cause

    client = HttpClient(NAMES, URL, transport=httpx.MockTransport(reply))
    with pytest.raises(ModelServerError) as caught:
        client.get(URL, 1000)
    assert str(caught.value).startswith(f"thing server {URL} {message}")
    assert len(asked) == 1


def test_a_connection_that_breaks_is_not_taken_for_one_that_was_refused() -> None:
    for error, message in [
        (httpx.ConnectError("refused"), "cannot be reached (refused): start it, or correct THING"),
        (httpx.RemoteProtocolError("gone"), "broke the connection (gone): see its log"),
    ]:

        def reply(request: httpx.Request, error: Exception = error) -> httpx.Response:
            raise error

        client = HttpClient(
            NAMES, URL, tries=Tries(backoff_s=0.001), transport=httpx.MockTransport(reply)
        )
        with pytest.raises(ModelServerError) as caught:
            client.get(URL, 1000)
        assert str(caught.value).startswith(f"thing server {URL} {message}")


def test_no_part_of_a_key_is_left_where_a_message_is_cut() -> None:
    client, _ = client_of(httpx.Response(400, text="x" * 195 + "s3cret-key"))
    with pytest.raises(ModelServerError) as caught:
        client.get(URL, 1000)
    assert "s3" not in str(caught.value)


def test_an_answer_of_its_full_size_is_read_and_one_byte_more_is_not() -> None:
    client, _ = client_of(httpx.Response(200, content=b"x" * 1000))
    assert len(client.get(URL, 1000)) == 1000
    with pytest.raises(ModelServerError, match=r"sent more than 999 bytes: see its log"):
        client.get(URL, 999)


@pytest.mark.parametrize("address", ["ftp://host/things", "host/things", "http://host:port/things"])
def test_what_is_no_address_is_told_at_once(address: str) -> None:
    client = HttpClient(NAMES, address)
    with pytest.raises(ModelServerError, match=r"is no address \(.+\): correct THING_URL"):
        client.get(address, 1000)


def test_a_client_that_was_closed_opens_its_connections_again() -> None:
    client, asked = client_of(httpx.Response(200, content=b"yes"))
    assert client.get(URL, 10) == b"yes"
    client.close()
    client.close()
    assert client.get(URL, 10) == b"yes"
    assert len(asked) == 2
