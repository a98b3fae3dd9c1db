"""Bounds on what clients send: bytes by route, silence between two pieces, and time in all.

A body may take as long as its size deserves: a first allowance, then a minimum rate. Only the time
that the server waits for the client counts.
"""

from __future__ import annotations

import asyncio
import re
import time
from typing import TYPE_CHECKING, Final

from starlette.exceptions import HTTPException

from ragkit_serve.api.access import CALLER
from ragkit_serve.api.errors import ApiError, answer
from ragkit_serve.api.gate import PUBLIC_PATHS

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

MAX_PUBLIC_BYTES: Final = 8 << 10  # where no key is needed: a key in a form and a path
MAX_JSON_BYTES: Final = 4 << 20  # arbitrary: a prompt of a million characters, or a batch of texts
FORM_BYTES: Final = 1 << 20  # what a form may need beside its files
LONGEST_SILENCE_S: Final = 30.0  # arbitrary: between two pieces of a body
ALLOWANCE_S: Final = 30.0  # arbitrary: what any body may take
MIN_BYTES_PER_S: Final = 4096  # arbitrary: a line of 32 kbit/s
SMALL_PATHS: Final = PUBLIC_PATHS | {"/logout"}
# The routes that take files, the only ones where a form may be larger than JSON.
UPLOADS: Final = re.compile(r"/v1/collections/[^/]+/documents|/v1/documents/[^/]+/source")
clock = time.monotonic


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
        limit = self._limit(scope, headers.get(b"content-type", b""))
        declared = headers.get(b"content-length", b"0")
        if not declared.isdigit():
            await answer(ApiError(400, "content-length is no number"))(scope, receive, send)
            return
        if int(declared) > limit:
            await answer(_too_large(limit))(scope, receive, send)
            return
        await self._app(scope, _Bounded(receive, limit), send)

    def _limit(self, scope: Scope, content_type: bytes) -> int:
        """Return how many bytes a request's body may have."""
        if CALLER not in scope or scope["path"] in SMALL_PATHS:
            return MAX_PUBLIC_BYTES
        is_form = content_type.lower().startswith(b"multipart/form-data")
        if is_form and UPLOADS.fullmatch(scope["path"]):
            return self._max_upload_bytes + FORM_BYTES
        return MAX_JSON_BYTES


class _Bounded:
    """`receive` with a limit on the body's bytes and on the time that they take."""

    def __init__(self, receive: Receive, limit: int) -> None:
        self._receive = receive
        self._limit = limit
        self._bytes = 0
        self._waited_s = 0.0
        self._complete = False

    async def __call__(self) -> Message:
        if self._complete:
            return await self._receive()  # the next is that the client hung up
        began = clock()
        try:
            async with asyncio.timeout(min(LONGEST_SILENCE_S, self._remaining_s())):
                message = await self._receive()
        except TimeoutError:
            raise _too_slow() from None
        self._waited_s += clock() - began
        if message["type"] == "http.request":
            self._bytes += len(message.get("body", b""))
            self._complete = not message.get("more_body", False)
            if self._bytes > self._limit:
                too_large = _too_large(self._limit)
                raise HTTPException(too_large.status, str(too_large))
            if self._remaining_s() < 0:
                raise _too_slow()
        return message

    def _remaining_s(self) -> float:
        """Return how much longer the client may be waited for."""
        return ALLOWANCE_S + self._bytes / MIN_BYTES_PER_S - self._waited_s


def _too_slow() -> HTTPException:
    """Make the error that FastAPI lets through while it reads a body."""
    return HTTPException(408, "the body of the request came too slowly")


def _too_large(limit: int) -> ApiError:
    size = f"{limit >> 20} MB" if limit >= 1 << 20 else f"{limit >> 10} kB"
    return ApiError(413, f"the body is larger than the {size} this address takes", code="too_large")
