"""The Model Context Protocol over HTTP: the core's tools behind the layers of the HTTP API.

Every request brings an access key and acts for whom that stands for; connections, heads, bodies,
hosts, origins and unknown keys are bounded as the API's are.
"""

from __future__ import annotations

from contextvars import ContextVar
from typing import TYPE_CHECKING, Final

import uvicorn

from ragkit.access.library import Caller, Library
from ragkit.adapters.mcp import READ, make_server
from ragkit.errors import UsageError
from ragkit.settings.hosts import is_loopback
from ragkit.system import logs
from ragkit_serve.api.access import caller_of
from ragkit_serve.api.bodies import BodyLimits
from ragkit_serve.api.errors import ApiError, answer
from ragkit_serve.api.gate import LOOPBACK_NAMES, Gate
from ragkit_serve.api.keyring import Keyring
from ragkit_serve.api.metrics import Metrics
from ragkit_serve.api.observe import Observe
from ragkit_serve.api.quota import Quota
from ragkit_serve.web.connections import server_config

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Receive, Scope, Send

    from ragkit.settings.settings import Settings
    from ragkit.store.open import Database

MAX_BODY_BYTES: Final = 200_000  # a query has at most 32,000 characters
_caller: ContextVar[Caller] = ContextVar("caller")


def run_http(
    library: Library, database: Database, settings: Settings, host: str, port: int
) -> None:
    """Serve keys of this database at http://HOST:PORT/mcp; raises UsageError for a public host."""
    if not is_loopback(host):
        raise UsageError(
            f"{host} is not a loopback address: bind to 127.0.0.1 and put a server that speaks TLS"
            " in front, or keys travel in the clear"
        )
    logs.configure()
    app = http_app(library, database, settings, host)
    uvicorn.Server(server_config(app, host=host, port=port)).run()


def http_app(library: Library, database: Database, settings: Settings, host: str) -> ASGIApp:
    """Make the app that is served at a loopback address."""
    protocol = make_server(library, _caller.get).streamable_http_app(
        stateless_http=True,  # no session outlives its key
        json_response=True,
        max_request_body_size=MAX_BODY_BYTES,
        host=host,
    )
    metrics = Metrics()
    quota = Quota(
        rate=settings.serve_key_rate, concurrency=settings.serve_key_concurrency, metrics=metrics
    )
    needs_key = settings.model_copy(update={"serve_auth": "keys"})
    gate = Gate(
        BodyLimits(_ForCaller(protocol, quota), max_upload_bytes=0),
        keyring=Keyring(database, needs_key, loopback=True, remembered_s=0.0),
        quota=quota,
        hosts={*LOOPBACK_NAMES, host, *(settings.serve_hosts or "").lower().split()},
    )
    return Observe(gate, metrics=metrics)


class _ForCaller:
    """ASGI middleware: let those who may read in, each acting for himself."""

    def __init__(self, app: ASGIApp, quota: Quota) -> None:
        self._app = app
        self._quota = quota

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        caller = caller_of(scope)
        if READ not in caller.scopes:
            error = ApiError(403, f"the key needs the scope {READ!r}", code="scope")
            await answer(error)(scope, receive, send)
            return
        with self._quota.question(caller):
            _caller.set(caller)
            await self._app(scope, receive, send)
