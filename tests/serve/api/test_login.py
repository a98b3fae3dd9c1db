"""Log-in by key and by OpenID Connect; the provider is scripted, the protocol is real."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, LiteralString
from urllib.parse import parse_qs, urlencode, urlsplit

import httpx
import psycopg
import pytest
from joserfc import jwt
from joserfc.jwk import KeySet, RSAKey
from limits import RateLimitItemPerMinute
from psycopg import sql

from ragkit.access import logins
from ragkit.store.open import Database
from ragkit.store.people.logins import Begun
from ragkit_serve.api.login import MAX_SIGN_ONS, SIGN_ON_COOKIE
from tests.serve.api.conftest import Serve, Site

KEY = RSAKey.generate_key(2048, {"kid": "1", "use": "sig", "alg": "RS256"})
OTHER = RSAKey.generate_key(2048, {"kid": "1", "use": "sig", "alg": "RS256"})


def browser(live: Any) -> httpx.Client:
    return httpx.Client(base_url=live.url, timeout=30, headers={"accept": "text/html"})


def test_a_key_logs_a_browser_in_and_out(serve: Serve, key: Callable[..., str]) -> None:
    secret = key("read")
    with serve() as live, browser(live) as client:
        assert "Access key" in client.get("/login").text
        wrong = client.post("/login", data={"key": "rk_" + "0" * 64})
        assert (wrong.status_code, "not valid" in wrong.text) == (401, True)
        assert client.get("/v1/models").status_code == 401
        done = client.post("/login", data={"key": secret, "next": "/"})
        assert (done.status_code, done.headers["location"]) == (303, "/")
        cookie = done.headers["set-cookie"].lower()
        assert "httponly" in cookie
        assert "samesite=lax" in cookie
        assert secret not in str(done.headers)
        assert client.get("/v1/models").status_code == 200
        assert client.get("/metrics").status_code == 403  # the key's own scopes, no more
        client.post("/logout")
        assert client.get("/v1/models").status_code == 401


def test_a_log_in_ends_with_its_key(serve: Serve, key: Callable[..., str], site: Site) -> None:
    secret = key("read")
    with serve(serve_auth="keys") as live, browser(live) as client:
        client.post("/login", data={"key": secret})
        assert client.get("/v1/models").status_code == 200
        with psycopg.connect(site.url, autocommit=True) as conn:
            conn.execute("UPDATE access_key SET revoked_at = now()")
        live.app.state.ragkit.keyring._known.clear()
        assert client.get("/v1/models").status_code == 401


@pytest.mark.parametrize(
    "next", ["https://evil.example/", "//evil.example", "/\\evil.example", "javascript:alert(1)"]
)
def test_a_log_in_leads_nowhere_else(serve: Serve, key: Callable[..., str], next: str) -> None:
    secret = key("read")
    with serve() as live, browser(live) as client:
        assert client.post("/login", data={"key": secret, "next": next}).headers["location"] == "/"
        assert "evil" not in client.get("/login", params={"next": next}).text


def test_the_form_is_chinese_for_a_chinese_browser(serve: Serve) -> None:
    with serve() as live:
        page = httpx.get(f"{live.url}/login", headers={"accept-language": "zh-CN,zh;q=0.9"})
    assert "访问密钥" in page.text
    assert "default-src 'none'" in page.headers["content-security-policy"]


class Provider:
    """An OpenID Connect provider, as far as it needs to be; `claims` change what it says."""

    def __init__(self) -> None:
        self.claims: dict[str, Any] = {}
        self.signed_with = KEY
        self.issuer = ""
        self.error = ""  # instead of a code
        self.asked: dict[str, list[str]] = {}
        self.traded: list[dict[str, list[str]]] = []

    def token(self) -> str:
        now = int(time.time())
        claims = {
            "iss": self.issuer,
            "aud": "ragkit",
            "sub": "person-7",
            "iat": now,
            "exp": now + 300,
            "nonce": self.asked["nonce"][0],
        } | self.claims
        return jwt.encode({"alg": "RS256", "kid": "1"}, claims, self.signed_with)


@contextmanager
def provider() -> Iterator[Provider]:
    told = Provider()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            if self.path.endswith("openid-configuration"):
                self._json(
                    {
                        "issuer": told.issuer,
                        "authorization_endpoint": f"{told.issuer}/authorize",
                        "token_endpoint": f"{told.issuer}/token",
                        "jwks_uri": f"{told.issuer}/keys",
                    }
                )
            elif self.path.startswith("/authorize?"):
                self._back()
            else:
                self._json(KeySet([KEY]).as_dict(private=False))

        def do_POST(self) -> None:
            length = int(self.headers["content-length"])
            told.traded.append(parse_qs(self.rfile.read(length).decode()))
            self._json({"access_token": "a", "token_type": "Bearer", "id_token": told.token()})

        def _back(self) -> None:
            """Send the browser back, as if somebody had logged in here, or had failed to."""
            told.asked = parse_qs(urlsplit(self.path).query)
            said = {"error": told.error} if told.error else {"code": "c"}
            query = urlencode(said | {"state": told.asked["state"][0]})
            self.send_response(303)
            self.send_header("location", f"{told.asked['redirect_uri'][0]}?{query}")
            self.send_header("content-length", "0")
            self.end_headers()

        def _json(self, value: object) -> None:
            content = json.dumps(value).encode()
            self.send_response(200)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, format: str, *args: object) -> None:
            return

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    told.issuer = f"http://127.0.0.1:{server.server_address[1]}"
    threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
    try:
        yield told
    finally:
        server.shutdown()
        server.server_close()


def settings(told: Provider) -> dict[str, Any]:
    return {
        "oidc_issuer": told.issuer,
        "oidc_client_id": "ragkit",
        "oidc_client_secret": "s3cret",
        "serve_auth": "keys",
    }


def sign_on(client: httpx.Client, told: Provider) -> httpx.Response:
    """Go to the provider and come back with a code."""
    away = client.get("/login/oidc", params={"next": "/chat"})
    assert away.status_code == 303
    told.asked = parse_qs(urlsplit(away.headers["location"]).query)
    return client.get("/login/callback", params={"code": "c", "state": told.asked["state"][0]})


def test_single_sign_on_logs_a_person_in(serve: Serve) -> None:
    with provider() as told, serve(**settings(told)) as live, browser(live) as client:
        back = sign_on(client, told)
        assert (back.status_code, back.headers["location"]) == (303, "/chat")
        assert told.asked["code_challenge_method"] == ["S256"]
        assert told.traded[0]["code_verifier"][0]
        assert client.get("/v1/models").status_code == 200
        assert client.post("/v1/collections", json={"name": "x"}).status_code == 403  # read only
        # The same answer again is worth nothing.
        state = told.asked["state"][0]
        assert callback(client, state).status_code == 401


def begun(client: httpx.Client) -> str:
    """Begin a sign-on and return its state."""
    asked = urlsplit(client.get("/login/oidc").headers["location"]).query
    return parse_qs(asked)["state"][0]


def callback(client: httpx.Client, state: str) -> httpx.Response:
    return client.get("/login/callback", params={"code": "c", "state": state})


def rows(site: Site, table: LiteralString) -> int:
    with psycopg.connect(site.url) as conn:
        row = conn.execute(sql.SQL("SELECT count(*) FROM {}").format(sql.Identifier(table)))
        return int((row.fetchone() or (0,))[0])


OTHERS: list[Callable[[httpx.Client, httpx.Client], dict[str, str]]] = [
    lambda mine, others: {},
    lambda mine, others: dict(others.cookies),
    lambda mine, others: {SIGN_ON_COOKIE: "A" * 43},
    lambda mine, others: {SIGN_ON_COOKIE: ""},
    lambda mine, others: {SIGN_ON_COOKIE: "é" + str(mine.cookies[SIGN_ON_COOKIE])[1:]},
    lambda mine, others: {SIGN_ON_COOKIE: ".".join(["A" * 43] * 6)},
    lambda mine, others: {SIGN_ON_COOKIE: "." + str(mine.cookies[SIGN_ON_COOKIE])},
    lambda mine, others: {SIGN_ON_COOKIE.upper(): str(mine.cookies[SIGN_ON_COOKIE])},
]


@pytest.mark.parametrize("cookies", OTHERS)
def test_a_sign_on_belongs_to_the_browser_that_began_it(
    serve: Serve, site: Site, cookies: Callable[[httpx.Client, httpx.Client], dict[str, str]]
) -> None:
    """An answer of the provider that is handed to another browser logs nobody in."""
    with (
        provider() as told,
        serve(**settings(told)) as live,
        browser(live) as mine,
        browser(live) as others,
    ):
        begun(others)
        state = begun(mine)
        told.asked = parse_qs(f"state={state}&nonce=n")
        header = "; ".join(f"{name}={value}" for name, value in cookies(mine, others).items())
        victim = httpx.get(
            f"{live.url}/login/callback",
            params={"code": "c", "state": state},
            headers=[(b"cookie", header.encode("latin-1"))] if header else [],
        )
        assert victim.status_code == 401
        assert "set-cookie" not in victim.headers
        assert rows(site, "login") == 0
        assert told.traded == []  # the code is not even asked about
        assert rows(site, "login_begun") == 2  # nothing was taken from those who began


def test_the_cookie_of_a_sign_on_is_the_browsers_alone_and_goes_with_it(serve: Serve) -> None:
    with provider() as told, serve(**settings(told)) as live, browser(live) as client:
        away = client.get("/login/oidc")
        plain = away.headers["set-cookie"]
        told.asked = parse_qs(urlsplit(away.headers["location"]).query)
        back = callback(client, told.asked["state"][0])
        gone = back.headers.get_list("set-cookie")
        secure = client.get("/login/oidc", headers={"x-forwarded-proto": "https"})
    assert set(plain.split("; ")[1:]) == {"HttpOnly", "Max-Age=600", "Path=/login", "SameSite=lax"}
    assert back.status_code == 303
    (ended,) = [one for one in gone if one.startswith(SIGN_ON_COOKIE)]
    assert "Max-Age=0" in ended
    assert "Path=/login" in ended
    tls = secure.headers["set-cookie"]
    assert tls.startswith("__Host-" + SIGN_ON_COOKIE)
    attributes = {"HttpOnly", "Max-Age=600", "Path=/", "SameSite=lax", "Secure"}
    assert set(tls.split("; ")[1:]) == attributes


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_two_tabs_log_in_side_by_side(serve: Serve, site: Site, order: tuple[int, int]) -> None:
    with provider() as told, serve(**settings(told)) as live, browser(live) as client:
        tabs = []
        for next in ("/first", "/second"):
            away = client.get("/login/oidc", params={"next": next})
            tabs.append((next, parse_qs(urlsplit(away.headers["location"]).query)))
        for number in order:
            next, told.asked = tabs[number]
            back = callback(client, told.asked["state"][0])
            assert (back.status_code, back.headers["location"]) == (303, next)
            again = callback(client, told.asked["state"][0])
            assert again.status_code == 401
        assert SIGN_ON_COOKIE not in client.cookies
    assert rows(site, "login") == 2


def test_a_browser_has_a_few_sign_ons_under_way(serve: Serve) -> None:
    with provider() as told, serve(**settings(told)) as live, browser(live) as client:
        states = [begun(client) for _ in range(MAX_SIGN_ONS + 3)]
        assert len(client.cookies[SIGN_ON_COOKIE]) == 44 * MAX_SIGN_ONS - 1
        assert callback(client, states[0]).status_code == 401
        told.asked = parse_qs(urlsplit(client.get("/login/oidc").headers["location"]).query)
        assert callback(client, told.asked["state"][0]).status_code == 303


def test_a_failed_answer_ends_its_sign_on(serve: Serve, site: Site) -> None:
    with provider() as told, serve(**settings(told)) as live, browser(live) as client:
        state = begun(client)
        failed = client.get("/login/callback", params={"error": "access_denied", "state": state})
        assert failed.status_code == 401
        assert SIGN_ON_COOKIE not in client.cookies
    assert rows(site, "login_begun") == 0


def test_sign_ons_are_limited_by_address(
    serve: Serve, site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    with provider() as told, serve(**settings(told)) as live, browser(live) as client:
        few = RateLimitItemPerMinute(2, namespace="sign-on")
        monkeypatch.setattr(live.app.state.ragkit.quota, "_sign_ons", few)
        assert [client.get("/login/oidc").status_code for _ in range(3)] == [303, 303, 429]
        person = client.get("/login/oidc")
        assert "Too many attempts" in person.text
        assert 1 <= int(person.headers["retry-after"]) <= 120
        program = client.get("/login/oidc", headers={"accept": "application/json"})
        assert program.json()["error"]["code"] == "rate_limit_exceeded"
        # Another address, as a proxy on this machine tells of it, begins as it likes.
        elsewhere = client.get("/login/oidc", headers={"x-forwarded-for": "192.0.2.7"})
        assert elsewhere.status_code == 303
    assert rows(site, "login_begun") == 3


def test_unfinished_sign_ons_are_bounded(
    database: Database, site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of all addresses together the newest are kept."""
    monkeypatch.setattr(logins, "MAX_BEGUN", 3)
    pairs = [logins.begin_sign_on(database, Begun("n", "v", f"/{n}")) for n in range(5)]
    assert rows(site, "login_begun") == 3
    finished = [logins.finish_sign_on(database, state, [secret]) for state, secret in pairs]
    assert [one[1].next if one else None for one in finished] == [None, None, "/2", "/3", "/4"]


@pytest.mark.parametrize(
    "claims",
    [
        {"iss": "https://evil.example"},
        {"aud": "somebody-else"},
        {"exp": 1},
        {"nonce": "another"},
        {"sub": ""},
        {"sub": 7},
    ],
)
def test_an_id_token_that_is_not_for_us_is_refused(serve: Serve, claims: dict[str, Any]) -> None:
    with provider() as told, serve(**settings(told)) as live, browser(live) as client:
        told.claims = claims
        assert sign_on(client, told).status_code == 401
        assert client.get("/v1/models").status_code == 401


def test_a_forged_signature_or_state_is_refused(serve: Serve) -> None:
    with provider() as told, serve(**settings(told)) as live, browser(live) as client:
        told.signed_with = OTHER
        assert sign_on(client, told).status_code == 401
        told.signed_with = KEY
        client.get("/login/oidc")
        forged = client.get("/login/callback", params={"code": "c", "state": "mine"})
        assert forged.status_code == 401


def test_a_provider_that_is_gone_is_said(serve: Serve) -> None:
    with provider() as told:
        chosen = settings(told)
    with serve(**chosen) as live:
        answer = httpx.get(f"{live.url}/login/oidc", timeout=30)
        person = browser(live).get("/login/oidc")
    assert answer.status_code == 502
    assert "cannot be asked" in answer.json()["error"]["message"]
    assert person.status_code == 502
    assert 'role="alert">Your organisation' in person.text
    assert 'href="/login/oidc' in person.text
