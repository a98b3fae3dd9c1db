"""What is written down of each request: an id, a log line, figures; never a text, key or address.

The outermost layer: what went wrong and was not expected becomes a 500 here.
"""

from __future__ import annotations

import logging
import re
import time
from typing import TYPE_CHECKING, Final
from uuid import uuid4

from ragkit_serve.api.access import CALLER
from ragkit_serve.api.errors import ApiError, answer, request_id
from ragkit_serve.api.event_stream import CLIENT_GONE, ClientGoneError

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from ragkit_serve.api.metrics import Metrics

REQUEST_ID: Final = "ragkit.request_id"  # where a request's id is in its scope
_SOUND_ID: Final = re.compile(r"[A-Za-z0-9._-]{1,64}")
log = logging.getLogger("ragkit.access")
failures = logging.getLogger("ragkit.serve")


class Observe:
    """ASGI middleware: give each request its id, count it and log it."""

    def __init__(self, app: ASGIApp, *, metrics: Metrics) -> None:
        self._app = app
        self._metrics = metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        number = scope[REQUEST_ID] = _id_of(scope)
        request_id.set(number)
        status, began = 0, time.perf_counter()

        async def sending(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message["headers"] = [*message["headers"], (b"x-request-id", number.encode())]
            await send(message)

        try:
            await self._app(scope, receive, sending)
        except ClientGoneError:
            status = CLIENT_GONE
        except ApiError as error:
            status = status or await _answered(error, scope, receive, sending)
        except Exception:  # noqa: BLE001  the request boundary: the process goes on
            failures.exception("request %s failed", number)
            failed = ApiError(500, "the server failed: its log says why")
            status = status or await _answered(failed, scope, receive, sending)
        finally:
            self._note(scope, status, time.perf_counter() - began)

    def _note(self, scope: Scope, status: int, seconds: float) -> None:
        route = _route(scope)
        method = scope["method"] if scope["method"] in _METHODS else "OTHER"
        self._metrics.requests.labels(route, method, str(status)).inc()
        self._metrics.seconds.labels(route).observe(seconds)
        caller = scope.get(CALLER)
        log.log(
            logging.DEBUG if route in _PROBES else logging.INFO,
            "request",
            extra={
                "fields": {
                    "request": scope[REQUEST_ID],
                    "method": method,
                    "route": route,
                    "status": status,
                    "seconds": round(seconds, 4),
                    "tenant": getattr(caller, "tenant", None),
                    "principal": getattr(caller, "principal", None),
                    "key": getattr(caller, "key", None),
                }
            },
        )


_PROBES: Final = frozenset({"/livez", "/readyz", "/metrics"})  # asked every few seconds
_METHODS: Final = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})


def _id_of(scope: Scope) -> str:
    """Take the client's own id where it is a plain one, else make one."""
    for name, value in scope["headers"]:
        if name == b"x-request-id" and _SOUND_ID.fullmatch(value.decode("latin-1")):
            return str(value.decode("latin-1"))
    return uuid4().hex


def _route(scope: Scope) -> str:
    """Return the route's pattern, never the path itself: that may name a document."""
    route = scope.get("route")
    path = getattr(route, "path", None)
    if isinstance(path, str) and path:
        return path
    return "page" if scope.get("endpoint") is not None or "app_root_path" in scope else "none"


async def _answered(error: ApiError, scope: Scope, receive: Receive, send: Send) -> int:
    await answer(error)(scope, receive, send)
    return error.status
