"""Connections that must say what they want within a while: uvicorn's protocol with one bound more.

uvicorn closes connections that are idle between requests, but waits forever for the rest of a
request's head, or for the first byte of a connection.
"""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Final

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from ragkit_serve.api.errors import body

if TYPE_CHECKING:
    from uvicorn.protocols.http.flow_control import FlowControl

LONGEST_HEAD_S: Final = 30.0  # arbitrary: for a request's line and headers


class BoundedProtocol(H11Protocol):
    """HTTP/1.1, a connection closed when a request's head does not come to its end in time."""

    flow: FlowControl
    _head_due: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._expect_head()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self.conn.their_state is not h11.IDLE:  # the head is complete
            self._forget_head()
        elif self._head_due is None:
            self._expect_head()

    def connection_lost(self, exc: Exception | None) -> None:
        self._forget_head()
        super().connection_lost(exc)

    def send_400_response(self, msg: str) -> None:
        """Answer what is no HTTP as the API answers its errors, and close the connection."""
        content = json.dumps(body(400, f"{msg} Send HTTP/1.1.", code="http")).encode()
        headers = [
            ("content-type", "application/json"),
            ("content-length", str(len(content))),
            ("connection", "close"),
        ]
        for event in (
            h11.Response(status_code=400, headers=headers, reason=b"Bad Request"),
            h11.Data(data=content),
            h11.EndOfMessage(),
        ):
            self.transport.write(self.conn.send(event) or b"")
        self.transport.close()

    def _expect_head(self) -> None:
        self._head_due = self.loop.call_later(LONGEST_HEAD_S, self.transport.close)

    def _forget_head(self) -> None:
        if self._head_due is not None:
            self._head_due.cancel()
            self._head_due = None
