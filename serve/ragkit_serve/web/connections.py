"""Connections that are bounded: uvicorn's protocol with limits on their number and their waiting.

uvicorn closes connections that are idle between requests, but waits forever for the rest of a
request's head, and for the rest of a body that was answered before it had come.
"""

from __future__ import annotations

import asyncio
import json
import resource
from typing import TYPE_CHECKING, Any, Final

import h11
import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from ragkit_serve.api.errors import body

if TYPE_CHECKING:
    from starlette.types import ASGIApp
    from uvicorn.protocols.http.flow_control import FlowControl

LONGEST_HEAD_S: Final = 30.0  # arbitrary: for a request's line and headers
LINGER_S: Final = 5.0  # arbitrary: for the rest of a body after its answer; see RFC 9112, 9.6
MAX_LINGER_BYTES: Final = 8 << 20  # arbitrary: so that most clients get to read why
MAX_CONNECTIONS: Final = 4096  # arbitrary
HANG_UP_S: Final = 1  # after draining: for connections that still send
BACKLOG: Final = 2048


class BoundedProtocol(H11Protocol):
    """HTTP/1.1 with bounds on connections, on a request's head, and on a body after its answer."""

    flow: FlowControl
    _head_due: asyncio.TimerHandle | None = None
    _rest_due: asyncio.TimerHandle | None = None
    _rest_bytes = 0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        if len(self.connections) > max_connections():
            transport.abort()
            return
        self._expect_head()

    def data_received(self, data: bytes) -> None:
        if self._rest_due is not None:
            self._rest_bytes += len(data)
            if self._rest_bytes > MAX_LINGER_BYTES:
                self.transport.abort()
                return
        super().data_received(data)
        if self.conn.their_state is not h11.SEND_BODY:
            self._forget_rest()
        if self.conn.their_state is not h11.IDLE:  # the head is complete
            self._forget_head()
        elif self._head_due is None:
            self._expect_head()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        # A request that was sent ahead may have begun a cycle of its own by now.
        unread = self.cycle.response_complete and self.conn.their_state is h11.SEND_BODY
        if unread and not self.transport.is_closing():
            self._rest_bytes = 0
            self._rest_due = self.loop.call_later(LINGER_S, self.transport.abort)

    def connection_lost(self, exc: Exception | None) -> None:
        self._forget_head()
        self._forget_rest()
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

    def _forget_rest(self) -> None:
        if self._rest_due is not None:
            self._rest_due.cancel()
            self._rest_due = None


def max_connections() -> int:
    """Return how many connections a process holds: some descriptors stay for everything else."""
    descriptors, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if descriptors == resource.RLIM_INFINITY:
        return MAX_CONNECTIONS
    return min(MAX_CONNECTIONS, descriptors * 3 // 4)


def server_config(app: ASGIApp, **options: Any) -> uvicorn.Config:
    """Return uvicorn's settings of a server whose connections are bounded."""
    return uvicorn.Config(
        app,
        http=BoundedProtocol,
        log_config=None,
        access_log=False,
        server_header=False,
        date_header=True,
        proxy_headers=True,  # only from this machine: forwarded_allow_ips' default
        h11_max_incomplete_event_size=64 << 10,  # all headers of a request
        limit_concurrency=None,  # admission answers in the wire format
        timeout_keep_alive=30,
        timeout_graceful_shutdown=HANG_UP_S,
        backlog=BACKLOG,
        **options,
    )
