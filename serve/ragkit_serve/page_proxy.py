"""Requests for the chat page passed on to the one process that has it, when several answer.

A browser's session lives in one process; the processes share one port. Who calls is checked there
again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import httpx
from starlette.requests import Request
from starlette.responses import JSONResponse

from ragkit_serve.api.errors import body

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from starlette.types import Receive, Scope, Send

_HOP_BY_HOP: Final = frozenset(
    {b"connection", b"keep-alive", b"te", b"trailer", b"transfer-encoding", b"upgrade"}
)


class PageProxy:
    """An ASGI app that is another process behind a unix socket."""

    def __init__(self, path: str) -> None:
        transport = httpx.AsyncHTTPTransport(uds=path)
        # A stream of events may be silent for long; its end is the client's to decide.
        timeout = httpx.Timeout(None, connect=5.0)
        self._http = httpx.AsyncClient(transport=transport, timeout=timeout, trust_env=False)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope, receive)
        query = scope["query_string"]
        path = scope["raw_path"] + (b"?" + query if query else b"")
        outgoing = self._http.build_request(
            scope["method"],
            httpx.URL(scheme="http", host="page", raw_path=path),
            headers=[(k, v) for k, v in scope["headers"] if k not in _HOP_BY_HOP],
            content=request.stream(),
        )
        try:
            answer = await self._http.send(outgoing, stream=True)
        except httpx.TransportError:
            failed = JSONResponse(body(503, "the chat page is starting: ask again"), 503)
            await failed(scope, receive, send)
            return
        try:
            headers = [(k.lower(), v) for k, v in answer.headers.raw]
            await send(
                {
                    "type": "http.response.start",
                    "status": answer.status_code,
                    "headers": [(k, v) for k, v in headers if k not in _HOP_BY_HOP],
                }
            )
            async for piece in _pieces(answer):
                await send({"type": "http.response.body", "body": piece, "more_body": True})
            await send({"type": "http.response.body", "body": b"", "more_body": False})
        finally:
            await answer.aclose()


async def _pieces(answer: httpx.Response) -> AsyncGenerator[bytes, None]:
    async for piece in answer.aiter_raw():
        yield piece
