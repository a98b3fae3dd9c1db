"""The gate before every route: nothing passes that is malformed, from elsewhere, or from nobody.

It goes by the ASGI scope's own path, on which routes are matched too, and denies by default. What a
caller may do at a route is stated there (`ragkit_serve.api.access`).
"""

from __future__ import annotations

import re
from collections.abc import Collection
from http.cookies import CookieError, SimpleCookie
from typing import TYPE_CHECKING, Final
from urllib.parse import quote

from starlette.responses import RedirectResponse

from ragkit.errors import RagkitError
from ragkit_serve.api.access import CALLER
from ragkit_serve.api.authority import Authority, is_same_origin, read_authority
from ragkit_serve.api.errors import ApiError, answer, api_error

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Receive, Scope, Send

    from ragkit.access.library import Caller
    from ragkit_serve.api.keyring import Keyring
    from ragkit_serve.api.quota import Quota

COOKIE: Final = "ragkit_login"
# What nobody needs a key for; exact paths, each of which has a route that says so too.
PUBLIC_PATHS: Final = frozenset(
    {"/livez", "/readyz", "/login", "/login/oidc", "/login/callback"}
    | {"/ui/static/look.css", "/ui/static/mark.svg"}  # the log-in page's look
)
LOOPBACK_NAMES: Final = frozenset({"localhost", "127.0.0.1", "::1"})

_ONCE: Final = frozenset(
    {
        *(b"host", b"authorization", b"content-length", b"content-type", b"cookie", b"origin"),
        *(b"transfer-encoding", b"idempotency-key", b"x-request-id"),
    }
)
_FORWARDED: Final = frozenset({b"forwarded", b"x-forwarded-for", b"x-forwarded-host", b"x-real-ip"})
_SAFE_METHODS: Final = frozenset({"GET", "HEAD", "OPTIONS"})
# Encoded slashes, backslashes, dots and control characters are read differently by different
# programs on the way; so are empty and dotted segments.
_STRANGE_RAW: Final = re.compile(
    rb"%(2f|5c|2e|00|0[0-9a-f]|1[0-9a-f]|7f|25)|[\\\x00-\x20\x7f]", re.I
)
# What costs nothing and changes nothing: the page and its files, health, metrics.
_UNCOUNTED: Final = re.compile(
    r"/|/livez|/readyz|/metrics|/login(/\w+)?|/theme\.css|/favicon\.ico|/(ui/static|assets|static)/.*"
)
_MODELS: Final = b"/v1/models/"
_STRANGE_PATH: Final = re.compile(r"//|/\.{1,2}(/|$)|[\x00-\x1f\x7f\\]")
_BEARER: Final = re.compile(r"Bearer +([A-Za-z0-9._~+/=-]{1,200}) *", re.IGNORECASE)


class Gate:
    """ASGI middleware: let requests in, each with its caller in `scope["ragkit.caller"]`.

    `hosts` are the names it answers to, lower case and without port; `any_address` adds every IP
    address. `origins` are foreign web origins that may call from a browser.
    """

    def __init__(
        self,
        app: ASGIApp,
        *,
        keyring: Keyring,
        quota: Quota,
        hosts: Collection[str],
        any_address: bool = False,
        origins: Collection[str] = (),
    ) -> None:
        self._app = app
        self._keyring = keyring
        self._quota = quota
        self._hosts = frozenset(hosts)
        self._any_address = any_address
        self._origins = frozenset(origins)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
        elif scope["type"] == "http":
            try:
                await self._let_in(scope)
            except _LogIn:
                await _login(scope)(scope, receive, send)
            except RagkitError as error:
                await answer(api_error(error))(scope, receive, send)
            else:
                await self._app(scope, receive, send)
        else:  # a WebSocket: nothing here speaks over one
            await send({"type": "websocket.close", "code": 1008})

    async def _let_in(self, scope: Scope) -> None:
        headers = _headers(scope)
        _check_path(scope)
        host = self._check_host(headers)
        self._check_origin(scope, headers, host)
        caller = await self._caller(scope, headers)
        if caller is not None:
            scope[CALLER] = caller
            if not _UNCOUNTED.fullmatch(scope["path"]):
                await self._quota.count(caller)
        elif scope["path"] not in PUBLIC_PATHS:
            raise _denied(scope, headers)

    async def _caller(self, scope: Scope, headers: dict[bytes, str]) -> Caller | None:
        """Find out who calls; a key that is presented and not valid is never just ignored.

        A key is looked up before guesses count, so that others' guesses never refuse a valid one.
        """
        presented = headers.get(b"authorization")
        token = _cookie(headers.get(b"cookie", ""))
        lane = await self._quota.lane(scope) if presented is not None or token else None
        if presented is not None:
            match = _BEARER.fullmatch(presented)
            caller = await self._keyring.by_key(match[1], lane) if match else None
            if caller is None and not await self._is_open(headers):
                await self._quota.count_guess(scope)
                raise _unknown_key()
            if caller is not None:
                return caller
        if token:
            caller = await self._keyring.by_login(token, lane)
            if caller is not None:
                return caller
            await self._quota.note_guess(scope)  # a log-in that has ended is no reason to refuse
        return await self._keyring.anybody() if await self._is_open(headers) else None

    async def _is_open(self, headers: dict[bytes, str]) -> bool:
        """Tell whether no key is needed: never for what a proxy passes on from elsewhere."""
        return not _FORWARDED & headers.keys() and await self._keyring.anybody() is not None

    def _check_host(self, headers: dict[bytes, str]) -> Authority:
        """Return the host that was asked for, if this server goes by its name."""
        text = headers.get(b"host", "")
        host = read_authority(text)
        if host is not None and (
            host.name in self._hosts or (self._any_address and host.is_address)
        ):
            return host
        raise ApiError(
            421,
            f"this server does not go by the name {text[:100]!r}: add it to RAGKIT_SERVE_HOSTS",
            code="unknown_host",
        )

    def _check_origin(self, scope: Scope, headers: dict[bytes, str], host: Authority) -> None:
        """Refuse what another site's page has a browser send along with the user's cookie."""
        if scope["method"] in _SAFE_METHODS:
            return
        origin = headers.get(b"origin")
        is_same = origin is None or is_same_origin(origin, scope["scheme"], host)
        foreign = headers.get(b"sec-fetch-site") == "cross-site"
        if origin in self._origins or (is_same and not foreign):
            return
        raise ApiError(
            403,
            f"requests from pages of {str(origin)[:100]!r} are refused: add it to"
            " RAGKIT_SERVE_ORIGINS, or have the proxy send X-Forwarded-Proto",
            code="origin",
        )


class _LogIn(Exception):
    """A browser asks for a page and nobody has logged in."""


def _headers(scope: Scope) -> dict[bytes, str]:
    """Return the headers; one that decides something may come only once."""
    headers: dict[bytes, str] = {}
    for name, value in scope["headers"]:
        if name in headers and name in _ONCE:
            raise ApiError(
                400,
                f"the header {name.decode('latin-1')!r} came twice: send it once",
                code="header",
            )
        headers[name] = value.decode("latin-1")
    if b"content-length" in headers and b"transfer-encoding" in headers:
        # Programs on the way may see another request where the body ends: RFC 9112, 6.3.
        raise ApiError(
            400,
            "the body's length is told in two ways: tell it in one",
            code="header",
            headers={"connection": "close"},
        )
    return headers


def _check_path(scope: Scope) -> None:
    raw = scope.get("raw_path") or scope["path"].encode()
    if raw.startswith(_MODELS):  # their names have slashes, which clients encode
        raw = re.sub(b"%2f", b"/", raw, flags=re.IGNORECASE)
    if _STRANGE_RAW.search(raw) or _STRANGE_PATH.search(scope["path"]):
        raise ApiError(400, "the path is written strangely: write it plainly", code="path")


def _denied(scope: Scope, headers: dict[bytes, str]) -> Exception:
    wants_page = "text/html" in headers.get(b"accept", "")
    if scope["method"] == "GET" and wants_page and not scope["path"].startswith("/v1/"):
        return _LogIn()
    return _unknown_key()


def _unknown_key() -> ApiError:
    return ApiError(
        401,
        "there is no valid key with the request: send one made by `ragkit keys create` as"
        " `Authorization: Bearer KEY`",
        code="invalid_api_key",
        headers={"www-authenticate": "Bearer"},
    )


def _login(scope: Scope) -> RedirectResponse:
    return RedirectResponse(f"/login?next={quote(scope['path'], safe='')}", 303)


def _cookie(header: str) -> str:
    try:
        cookie = SimpleCookie(header).get(COOKIE)
    except CookieError:
        return ""
    return cookie.value if cookie is not None else ""
