"""Bounds on what clients send: so many bytes, and never slower than a while between two pieces."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final

from starlette.exceptions import HTTPException

from ragkit_serve.api.errors import ApiError, answer

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

MAX_JSON_BYTES: Final = 4 << 20  # arbitrary: a prompt of a million characters, or a batch of texts
FORM_BYTES: Final = 1 << 20  # what a form may need beside its files
LONGEST_SILENCE_S: Final = 30.0  # arbitrary: between two pieces of a body


class BodyLimits:
    """ASGI middleware: refuse a body that is too large, or that comes too slowly."""

    def __init__(self, app: ASGIApp, *, max_upload_bytes: int) -> None:
        self._app = app
        self._max_upload_bytes = max_upload_bytes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = dict(scope["headers"])
        limit = MAX_JSON_BYTES
        if headers.get(b"content-type", b"").startswith(b"multipart/form-data"):
            limit = self._max_upload_bytes + FORM_BYTES
        declared = headers.get(b"content-length", b"0")
        if not declared.isdigit():
            await answer(ApiError(400, "content-length is no number"))(scope, receive, send)
            return
        if int(declared) > limit:
            await answer(_too_large(limit))(scope, receive, send)
            return
        await self._app(scope, _Bounded(receive, limit), send)


class _Bounded:
    """`receive` with a limit on the body's bytes and on the time between its pieces."""

    def __init__(self, receive: Receive, limit: int) -> None:
        self._receive = receive
        self._limit = limit
        self._left = limit
        self._complete = False

    async def __call__(self) -> Message:
        if self._complete:
            return await self._receive()  # the next is that the client hung up
        try:
            async with asyncio.timeout(LONGEST_SILENCE_S):
                message = await self._receive()
        except TimeoutError:
            # What FastAPI lets through while it reads a body.
            raise HTTPException(408, "the body of the request came too slowly") from None
        if message["type"] == "http.request":
            self._left -= len(message.get("body", b""))
            self._complete = not message.get("more_body", False)
            if self._left < 0:
                too_large = _too_large(self._limit)
                raise HTTPException(too_large.status, str(too_large))
        return message


def _too_large(limit: int) -> ApiError:
    return ApiError(
        413, f"the body is larger than the {limit >> 20} MB this address takes", code="too_large"
    )
