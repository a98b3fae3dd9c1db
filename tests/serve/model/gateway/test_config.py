"""What goes into the gateway's files, and what never may."""

from pathlib import Path

import pytest

from ragkit.errors import UsageError
from ragkit_serve.model.gateway.backends import Backend, parse_backend, parse_listen
from ragkit_serve.model.gateway.config import Gateway, files

FOLDER = Path("/srv/gateway")


@pytest.mark.parametrize(
    ("text", "backend"),
    [
        ("http://10.0.0.5:8000/v1", Backend("10.0.0.5:8000")),
        ("http://gpu-1.internal", Backend("gpu-1.internal:80")),
        ("https://gpu-1.internal/", Backend("gpu-1.internal:443", tls=True)),
        ("http://[::1]:8000", Backend("[::1]:8000")),
        ("unix:/run/vllm.sock", Backend("unix:/run/vllm.sock")),
    ],
)
def test_addresses_as_nginx_writes_them(text: str, backend: Backend) -> None:
    assert parse_backend(text) == backend


@pytest.mark.parametrize(
    "text",
    [
        "",
        "10.0.0.5:8000",
        "ftp://a:1",
        "http://a:99999",
        "http://a:0",
        "http://user:pw@a:1",
        "http://a b:1",
        "http://a:1/v2",
        "http://a:1/v1?x=1",
        "http://a:1;return 200;",
        "http://a;}",
        "http://$host:1",
        "http://a\nb:1",
        "unix:relative.sock",
        "unix:/run/a b.sock",
        "unix:/run/a;}.sock",
        "unix:/run/$x.sock",
    ],
)
def test_what_could_say_more_than_an_address_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="backend"):
        parse_backend(text)


@pytest.mark.parametrize("text", ["8080", ":8080", "a:b", "1.2.3.4:0", "x; y:80", "a:8080;"])
def test_so_is_a_strange_address_to_listen_at(text: str) -> None:
    with pytest.raises(UsageError, match="is no address"):
        parse_listen(text)


def make(**options: object) -> Gateway:
    given: dict[str, object] = {
        "backends": [Backend("a:1"), Backend("b:2")],
        "listen": "127.0.0.1:8080",
        "client_keys": ["12345678"],
    }
    return Gateway(**(given | options))  # type: ignore[arg-type]


def test_keys_stand_apart_from_the_configuration() -> None:
    texts = files(make(client_keys=["abc.def-ghi"], backend_key="secret-key"), FOLDER)
    assert "abc" not in texts["nginx.conf"]
    assert "secret-key" not in texts["nginx.conf"]
    assert texts["clients.conf"] == '"~^[Bb]earer abc\\.def\\-ghi$" 1;\n'
    assert texts["backends.conf"] == 'proxy_set_header Authorization "Bearer secret-key";\n'


def test_the_certificates_of_https_backends_are_checked_for_their_own_name() -> None:
    both = [Backend("gpu.internal:8443", tls=True), Backend("gpu.internal:8444", tls=True)]
    config = files(make(backends=both), FOLDER)["nginx.conf"]
    assert "proxy_ssl_name gpu.internal;" in config
    assert "proxy_ssl_verify on;" in config


def test_the_two_ways_of_balancing() -> None:
    assert "least_conn;" in files(make(), FOLDER)["nginx.conf"]
    by_prefix = files(make(balance="prefix"), FOLDER)["nginx.conf"]
    assert "hash $prompt_prefix consistent;" in by_prefix
    assert "least_conn" not in by_prefix


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"backends": []}, "needs a model server"),
        ({"backends": [Backend("a:1"), Backend("a:1")]}, "named twice"),
        ({"backends": [Backend("a:1"), Backend("b:1", tls=True)]}, "some https"),
        (
            {"backends": [Backend("a:443", tls=True), Backend("b:443", tls=True)]},
            "must share one host name",
        ),
        ({"client_keys": []}, "needs a key"),
        ({"client_keys": ["short"]}, "a key is shorter"),
        ({"client_keys": ['12345678" 1; default 1; "']}, "holds others than"),
        ({"backend_key": "12345678$host"}, "holds others than"),
        ({"certificate": Path("/c.pem")}, "belong together"),
        ({"certificate": Path("/c;.pem"), "certificate_key": Path("/k.pem")}, "cannot be told"),
    ],
)
def test_nonsense_is_one_line(options: dict[str, object], said: str) -> None:
    with pytest.raises(UsageError, match=said):
        files(make(**options), FOLDER)
