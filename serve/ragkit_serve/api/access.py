"""What each route needs, stated at the route: the one dependency that hands out its caller.

The gate before the routes has found out who calls; this decides what he may.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Any, Final, Literal

from fastapi import Security, params
from fastapi.openapi.models import HTTPBearer
from fastapi.security.base import SecurityBase
from starlette.requests import Request

from ragkit.access.library import Caller
from ragkit.store.connection.identity import act_for
from ragkit_serve.api.errors import ApiError
from ragkit_serve.api.event_stream import ClientGoneError

if TYPE_CHECKING:
    from starlette.types import Scope

CALLER: Final = "ragkit.caller"  # where the gate leaves the caller in a request's scope
Needed = Literal["read", "write", "admin", "metrics"]


class Need(SecurityBase):
    """A scope that the caller's key must have.

    A route that is a function runs in a thread: it waits for the key's turn, and holds that while
    the function runs. A coroutine takes turns or places itself.
    """

    def __init__(self, scope: Needed) -> None:
        self.needed = scope
        self.scheme_name = "key"
        self.model = HTTPBearer(description="A key made by `ragkit keys create`.")

    async def __call__(self, request: Request) -> AsyncIterator[Caller]:
        caller = caller_of(request.scope)
        if self.needed not in caller.scopes:
            raise ApiError(
                403, f"the key may not do this: it needs the scope {self.needed!r}", code="scope"
            )
        if asyncio.iscoroutinefunction(request.scope["endpoint"]):
            yield caller
            return
        async with request.app.state.ragkit.quota.turn(caller):
            if await _has_left(request):  # the turn may have taken long
                raise ClientGoneError
            yield caller


async def _has_left(request: Request) -> bool:
    """Tell whether the client has hung up; a body that nobody has read yet is discarded."""
    return await request.is_disconnected() or await request.is_disconnected()


class Public:
    """Everybody may ask: the decision that a route needs nobody."""

    async def __call__(self) -> None:
        return None


def needs(scope: Needed) -> Any:
    """Return the dependency of a route that needs a scope; its value is the Caller."""
    # Ended with the function, not with the response: a slow reader keeps no turn.
    return params.Security(Need(scope), scope="function")


def public() -> Any:
    """Return the dependency of a route that is open to everybody."""
    return Security(Public())


def caller_of(scope: Scope) -> Caller:
    """Return whom the gate let in; the database is asked for him from here on.

    Raises ApiError 401 where it has let nobody in.
    """
    caller = scope.get(CALLER)
    if not isinstance(caller, Caller):
        raise ApiError(401, "there is no valid key with the request", code="invalid_api_key")
    act_for(caller.tenant, caller.principal)
    return caller
