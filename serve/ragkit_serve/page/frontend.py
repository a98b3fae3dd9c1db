"""Gradio's own app behind a short list of its addresses, its index page made ours.

The list has the index page, its style and its static files, all read with GET. Whatever else that
app would answer to (events, uploads, files of the server, proxies, logins, its API's description)
is not there, and no body of a request reaches it.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Mapping, Sequence
from html import escape
from typing import TYPE_CHECKING, Final

from starlette.routing import Match

from ragkit_serve.api.access import caller_of
from ragkit_serve.api.errors import ApiError
from ragkit_serve.page.csp import POLICY, policy
from ragkit_serve.page.words import Language, language_of

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

_READ: Final = re.compile(r"/(?:theme\.css|favicon\.ico|(?:assets|static)/[\w./-]{1,200})?")
METHODS: Final = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE")
PASSED: Final = frozenset(
    {b"host", b"accept", b"accept-encoding", b"accept-language", b"user-agent"}
    | {b"if-none-match", b"if-modified-since", b"range", b"if-range"}
)
MAX_INDEX_BYTES: Final = 4 << 20  # only catches mistakes: the page is 100 kB

# What the index page has for other sites, and for pages that put it into a frame.
_FOREIGN: Final = re.compile(
    r"<meta\s+(?:property|name)=\"(?:og|twitter):[^>]*>"
    r"|<link\s+rel=\"manifest\"[^>]*>"
    r"|<base\s[^>]*>"
    r"|<script>(?:(?!</script>).)*iframeResizer\.contentWindow(?:(?!</script>).)*</script>"
    r"|<script[^>]*\bsrc=\"(?:https?:)?//[^>]*>\s*</script>"
    r"|<link[^>]*\bhref=\"(?:https?:)?//[^>]*>",
    re.DOTALL,
)
_INLINE: Final = re.compile(r"<script(?![^>]*\bsrc=)(?=[\s>])")
_LANGUAGE: Final = re.compile(r"<html\s+lang=\"[^\"]*\"")


class Frontend:
    """ASGI app: Gradio's page in the language that the browser asks for."""

    def __init__(self, pages: Mapping[Language, ASGIApp]) -> None:
        self._pages = pages

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            raise ApiError(404, "there is nothing here", code="not_found")
        _check(scope)
        headers = dict(scope["headers"])
        language = language_of(headers.get(b"accept-language", b"").decode("latin-1"))
        page = self._pages[language]
        # Gradio would take links to states, themes and views from the query, and the server's name
        # from headers of proxies.
        passed = [pair for pair in scope["headers"] if pair[0] in PASSED]
        scope = {**scope, "query_string": b"", "headers": passed}
        receive = _without_body(receive)
        if scope["path"] != "/":
            await page(scope, receive, send)
            return
        # The index is rewritten, so it has to come uncompressed.
        plain = [pair for pair in passed if pair[0] != b"accept-encoding"]
        await page({**scope, "headers": plain}, receive, _Index(send, language))


def _check(scope: Scope) -> None:
    """Refuse what is not on the list. Raises ApiError."""
    path, method = scope["path"], scope["method"]
    caller = caller_of(scope)
    if "read" not in caller.scopes:
        raise ApiError(403, "the key may not do this: it needs the scope 'read'", code="scope")
    if not _READ.fullmatch(path):
        # A route of this path with another method has let the request go on to the page.
        routes = [r for r in scope["app"].routes if r.matches(scope)[0] is Match.PARTIAL]
        if routes:
            tried = [(name, {**scope, "method": name}) for name in METHODS]
            methods = [n for n, s in tried if any(r.matches(s)[0] is Match.FULL for r in routes)]
            raise _method_not_allowed(scope, methods)
        raise ApiError(404, f"there is nothing at {path[:100]!r}", code="not_found")
    if method not in {"GET", "HEAD"}:
        raise _method_not_allowed(scope, ["GET", "HEAD"])


def _without_body(receive: Receive) -> Receive:
    """Return a `receive` of an empty body, whatever the client sends; its leaving is passed on."""
    begun = False

    async def received() -> Message:
        nonlocal begun
        if not begun:
            begun = True
            return {"type": "http.request", "body": b"", "more_body": False}
        while (message := await receive())["type"] != "http.disconnect":
            pass
        return message

    return received


def _method_not_allowed(scope: Scope, methods: Sequence[str]) -> ApiError:
    return ApiError(
        405,
        f"{scope['path'][:100]} does not take {scope['method'][:10]}",
        code="method_not_allowed",
        headers={"allow": ", ".join(methods)},
    )


class _Index:
    """`send` that holds the index page back until it is complete, and sends it rewritten."""

    def __init__(self, send: Send, language: Language) -> None:
        self._send = send
        self._language = language
        self._start: Message = {}
        self._body = b""

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self._start = message
        if message["type"] != "http.response.body":  # test clients are told of templates too
            return
        self._body += message.get("body", b"")
        assert len(self._body) <= MAX_INDEX_BYTES, "the index page is small"
        if message.get("more_body"):
            return
        nonce = secrets.token_urlsafe(18)
        body = self._body
        if self._start["status"] == 200 and body:
            body = own(body.decode(), nonce=nonce, language=self._language).encode()
        dropped = {b"content-length", b"cache-control", b"vary"}
        headers = [pair for pair in self._start["headers"] if pair[0].lower() not in dropped]
        headers += [
            (b"content-length", str(len(body)).encode()),
            (b"cache-control", b"no-store"),
            (b"vary", b"accept-language"),
            (POLICY, policy(nonce).encode()),
        ]
        await self._send({**self._start, "headers": headers})
        await self._send({"type": "http.response.body", "body": body})


def own(html: str, *, nonce: str, language: Language) -> str:
    """Take everything foreign out of Gradio's index page and put our own files in."""
    html = _FOREIGN.sub("", html)
    html = _INLINE.sub(f'<script nonce="{escape(nonce)}"', html)
    html = _LANGUAGE.sub(f'<html lang="{"zh-CN" if language == "zh" else "en"}"', html, count=1)
    files = (
        '<link rel="stylesheet" href="/ui/static/look.css">'
        '<link rel="stylesheet" href="/ui/static/ragkit.css">'
        '<link rel="stylesheet" href="/ui/static/documents.css">'
        '<link rel="stylesheet" href="/ui/static/side.css">'
        '<link rel="stylesheet" href="/ui/static/welcome.css">'
        '<link rel="icon" href="/ui/static/mark.svg" type="image/svg+xml">'
        '<link rel="stylesheet" href="/ui/static/original.css">'
        '<script type="module" src="/ui/static/ragkit.js"></script>'
    )
    return html.replace("</head>", files + "</head>", 1)
