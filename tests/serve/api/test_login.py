"""Log-in by key and by OpenID Connect; the provider is scripted, the protocol is real."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

import httpx
import pytest
from joserfc import jwt
from joserfc.jwk import KeySet, RSAKey

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
    import psycopg

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
        again = httpx.get(f"{live.url}/login/callback", params={"code": "c", "state": state})
        assert again.status_code == 401


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
