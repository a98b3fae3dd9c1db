"""Who gets in: keys, scopes, collections, tenants; and everything that is refused before that."""

from __future__ import annotations

import socket
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
import psycopg
import pytest
from fastapi.routing import APIRoute
from starlette.routing import Mount

from ragkit.access import keys
from ragkit.store.open import Database
from ragkit_serve.api.access import Need, Public
from ragkit_serve.api.gate import PUBLIC_PATHS
from tests.serve.api.conftest import Serve, Site

Make = Callable[..., str]


def get(live: Any, path: str = "/v1/models", key: str | None = None, **headers: str) -> int:
    if key is not None:
        headers["authorization"] = f"Bearer {key}"
    return httpx.get(live.url + path, headers=headers, timeout=30).status_code


def routes_of(app: Any) -> Iterator[APIRoute | Mount]:
    """Walk a router with everything that is included in it."""
    for route in app.routes:
        if isinstance(route, APIRoute | Mount):
            yield route
        else:
            yield from routes_of(route.original_router)


def decisions(route: APIRoute) -> list[object]:
    calls = [dependency.call for dependency in route.dependant.dependencies]
    return [call for call in calls if isinstance(call, Need | Public)]


def test_every_route_has_exactly_one_decision(serve: Serve) -> None:
    with serve(ui=True) as live:
        routes = list(routes_of(live.app))
    found = [route for route in routes if isinstance(route, APIRoute)]
    assert len(found) > 25
    for route in found:
        made = decisions(route)
        assert len(made) == 1, f"{route.path} has {len(made)} decisions"
        is_public = isinstance(made[0], Public)
        assert is_public == (route.path in PUBLIC_PATHS or route.path == "/logout"), route.path
    # What is mounted has no routes of its own here: the gate lets nobody reach it without a caller.
    assert {route.path for route in routes if isinstance(route, Mount)} <= {"", "/ui"}


def test_without_a_key_nothing_is_told_but_health(serve: Serve, key: Make) -> None:
    key("read")
    with serve(serve_auth="keys", ui=True) as live:
        for path in live.app.state.ragkit and [
            "/v1/models",
            "/v1/collections",
            "/v1/jobs/1",
            "/openapi.json",
            "/metrics",
            "/",
            "/config",
            "/gradio_api/info",
            "/gradio_api/queue/data",
            "/nowhere",
        ]:
            assert get(live, path) == 401, path
        assert get(live, "/livez") == 200
        assert get(live, "/readyz") == 200
        assert httpx.head(f"{live.url}/livez").status_code == 200
        assert httpx.head(f"{live.url}/readyz").status_code == 200
        assert httpx.post(f"{live.url}/gradio_api/queue/join", json={}).status_code == 401
        page = httpx.get(live.url + "/", headers={"accept": "text/html"})
        assert (page.status_code, page.headers["location"]) == (303, "/login?next=%2F")


@pytest.mark.parametrize(
    "header",
    [
        "",
        "Bearer",
        "Bearer x",
        "Basic cms6eA==",
        "Bearer " + "rk_" + "0" * 64,
        "bearer\trk_x",
        "Bearer " + "a" * 5000,
    ],
)
def test_a_key_that_is_none_is_a_401_in_the_wire_format(
    serve: Serve, key: Make, header: str
) -> None:
    key("read")
    with serve() as live:
        answer = httpx.get(f"{live.url}/v1/models", headers={"authorization": header})
    assert answer.status_code == 401
    assert answer.json()["error"]["code"] == "invalid_api_key"
    assert answer.headers["www-authenticate"] == "Bearer"


def test_scopes_are_honoured_and_none_includes_another(serve: Serve, key: Make) -> None:
    read, write, metrics = key("read"), key("write"), key("metrics")
    with serve() as live:
        assert get(live, key=read) == 200
        assert get(live, key=write) == 403
        assert get(live, "/metrics", read) == 403
        assert get(live, "/metrics", metrics) == 200
        assert get(live, key=metrics) == 403


def test_an_expired_or_revoked_key_is_refused(serve: Serve, database: Database, site: Site) -> None:
    soon = datetime.now(UTC) + timedelta(days=1)
    made = keys.create(database, name="short", expires_at=soon)
    other = keys.create(database, name="long")
    with psycopg.connect(site.url, autocommit=True) as conn:
        conn.execute(
            "UPDATE access_key SET expires_at = now() - interval '1 s' WHERE id = %s",
            (made.access.id,),
        )
    with serve() as live:
        assert get(live, key=made.secret) == 401
        assert get(live, key=other.secret) == 200
        keys.revoke(database, other.access.id)
        live.app.state.ragkit.keyring._known.clear()  # what is remembered for five seconds
        assert get(live, key=other.secret) == 401


def test_tenants_and_collections_bound_what_is_there(serve: Serve, key: Make) -> None:
    mine, theirs = key("read"), key("read", tenant="other")
    confined = key("read", collections=["manuals"])
    with serve() as live:

        def ask(secret: str, question: str, **body: Any) -> httpx.Response:
            return httpx.post(
                f"{live.url}/v1/search",
                json={"query": question} | body,
                headers={"authorization": f"Bearer {secret}"},
                timeout=30,
            )

        assert "4711" in ask(theirs, "vault").text
        assert "4711" not in ask(mine, "vault").text
        assert "900" in ask(confined, "pump").text
        hidden = ask(confined, "holiday", collection="default")
        missing = ask(confined, "holiday", collection="nowhere")
        assert hidden.status_code == missing.status_code == 404
        models = httpx.get(
            f"{live.url}/v1/models", headers={"authorization": f"Bearer {confined}"}
        ).json()
        assert [model["id"] for model in models["data"]] == ["ragkit", "ragkit/manuals"]


def test_without_keys_only_this_machine_gets_in_and_never_through_a_proxy(serve: Serve) -> None:
    with serve() as live:
        assert get(live) == 200
        assert get(live, **{"x-forwarded-for": "10.1.2.3"}) == 401
        assert get(live, forwarded="for=10.1.2.3") == 401
        # What clients that insist on a key send to a server without one.
        assert get(live, key="none") == 200


def test_the_first_key_closes_the_server(serve: Serve, key: Make) -> None:
    with serve() as live:
        assert get(live) == 200
        made = key("read")
        live.app.state.ragkit.keyring._open = type(live.app.state.ragkit.keyring._open)(None, 0.0)
        assert get(live) == 401
        assert get(live, key=made) == 200


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"host": "evil.example"}, 421),
        ({"host": "127.0.0.1@evil.example"}, 421),
        ({"host": "localhost"}, 200),
        ({"host": "LOCALHOST:99"}, 200),
    ],
)
def test_a_forged_host_is_refused(serve: Serve, headers: dict[str, str], status: int) -> None:
    with serve() as live:
        assert get(live, **headers) == status


@pytest.mark.parametrize(
    "path",
    [
        "/v1%2Fmodels",
        "/v1/%2e%2e/v1/models",
        "//v1/models",
        "/v1/./models",
        "/v1/../v1/models",
        "/v1/models%00",
        "/v1\\models",
        "/livez/../v1/models",
        "/livez%2f..%2fv1/models",
        "/V1/models",
        "/v1/models/",
        "/livez/",
        "/livez;/v1/models",
    ],
)
def test_paths_written_strangely_reach_nothing(serve: Serve, key: Make, path: str) -> None:
    key("read")
    with serve(ui=True) as live:
        assert raw(live, f"GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n") in {400, 401, 404}


@pytest.mark.parametrize(
    "twice",
    [
        "Host: localhost\r\nHost: evil.example",
        "Host: localhost\r\nAuthorization: Bearer a\r\nAuthorization: Bearer b",
        "Host: localhost\r\nContent-Length: 0\r\nContent-Length: 5",
        "Host: localhost\r\nContent-Length: 5\r\nTransfer-Encoding: chunked",
        "Host: localhost\r\nCookie: a=b\r\nCookie: c=d",
    ],
)
def test_doubled_headers_are_refused(serve: Serve, twice: str) -> None:
    with serve() as live:
        assert raw(live, f"GET /v1/models HTTP/1.1\r\n{twice}\r\n\r\n") == 400


def test_after_a_body_of_two_lengths_the_connection_is_closed(serve: Serve) -> None:
    """What follows may be a request that a proxy has taken for a part of the body."""
    lengths = "Content-Length: 5\r\nTransfer-Encoding: chunked"
    request = f"POST /v1/search HTTP/1.1\r\nHost: localhost\r\n{lengths}\r\n\r\n0\r\n\r\n"
    with serve() as live:
        address = httpx.URL(live.url)
        with socket.create_connection((address.host, address.port or 80), 60) as conn:
            conn.sendall(request.encode() + b"GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n")
            answer = b""
            while piece := conn.recv(1 << 16):
                answer += piece
    assert answer.startswith(b"HTTP/1.1 400")
    assert answer.count(b"HTTP/1.1") == 1


def raw(live: Any, request: str) -> int:
    """Send bytes as they are; return the status."""
    address = httpx.URL(live.url)
    with socket.create_connection((address.host, address.port or 80), 10) as conn:
        conn.sendall(request.encode("latin-1"))
        return int(conn.recv(100).split()[1])


def test_another_sites_page_cannot_use_the_browser(serve: Serve) -> None:
    with serve() as live:

        def post(**headers: str) -> int:
            return httpx.post(
                f"{live.url}/v1/search", json={"query": "holiday"}, headers=headers, timeout=30
            ).status_code

        assert post(origin="https://evil.example") == 403
        assert post(origin="null") == 403
        assert post(**{"sec-fetch-site": "cross-site"}) == 403
        assert post(origin=live.url) == 200
        preflight = httpx.options(
            f"{live.url}/v1/search",
            headers={"origin": "https://evil.example", "access-control-request-method": "POST"},
        )
        assert "access-control-allow-origin" not in preflight.headers


def test_an_origin_that_is_let_in_gets_cors(serve: Serve) -> None:
    with serve(serve_origins="https://app.example") as live:
        answer = httpx.post(
            f"{live.url}/v1/search",
            json={"query": "holiday"},
            headers={"origin": "https://app.example"},
            timeout=30,
        )
        assert answer.status_code == 200
        assert answer.headers["access-control-allow-origin"] == "https://app.example"


def test_a_keys_rate_is_bounded(serve: Serve, key: Make) -> None:
    mine, other = key("read"), key("read")
    with serve(serve_key_rate=3) as live, httpx.Client(base_url=live.url) as client:
        bearer = {"authorization": f"Bearer {mine}"}
        answers = [client.get("/v1/models", headers=bearer) for _ in range(8)]
        assert get(live, key=other) == 200
    assert [answer.status_code for answer in answers[:3]] == [200, 200, 200]
    limited = [answer for answer in answers if answer.status_code == 429]
    assert len(limited) >= 2  # a minute that begins meanwhile lets three more through
    for answer in limited:
        assert 1 <= int(answer.headers["retry-after"]) <= 60
        assert answer.json()["error"]["type"] == "rate_limit_error"


def test_guessing_keys_is_slowed_down(serve: Serve, key: Make) -> None:
    key("read")
    with serve() as live, httpx.Client(base_url=live.url) as client:
        started = time.monotonic()
        statuses = [
            client.get("/v1/models", headers={"authorization": f"Bearer rk_{n:064x}"}).status_code
            for n in range(100)
        ]
        elapsed_s = time.monotonic() - started
    assert set(statuses[:60]) == {401}
    assert set(statuses) == {401, 429}
    # A minute that begins meanwhile lets one more through for each second since.
    assert statuses.count(401) <= 61 + elapsed_s


def test_a_request_id_is_the_clients_own_or_new(serve: Serve) -> None:
    with serve() as live:
        sent = {"x-request-id": "mine-1"}
        mine = httpx.get(f"{live.url}/livez", headers=sent)
        assert mine.headers["x-request-id"] == "mine-1"
        strange = httpx.get(f"{live.url}/livez", headers={"x-request-id": "a b\tc"})
        assert len(strange.headers["x-request-id"]) == 32
        failed = httpx.get(f"{live.url}/nowhere")
        assert failed.headers["x-request-id"]


def test_bodies_are_bounded(serve: Serve) -> None:
    with serve(serve_max_upload_mb=1) as live:
        large = b'{"query": "' + b"x" * (5 << 20) + b'"}'
        headers = {"content-type": "application/json"}
        answer = httpx.post(f"{live.url}/v1/search", content=large, headers=headers)
        assert answer.status_code == 413
        pieces = (b"x" * 65536 for _ in range(100))
        chunked = httpx.post(f"{live.url}/v1/search", content=pieces, headers=headers)
        assert chunked.status_code == 413
        assert chunked.json()["error"]["type"] == "invalid_request_error"
