"""Work that blocks, admitted as a question is: in a thread, cancelled when the client leaves."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

from starlette.concurrency import run_in_threadpool
from starlette.responses import JSONResponse, Response

from ragkit_serve.api.event_stream import while_connected

if TYPE_CHECKING:
    from starlette.requests import Request

    from ragkit.access.library import Caller
    from ragkit_serve.api.slots import Place
    from ragkit_serve.api.state import State

T = TypeVar("T")


async def admitted(request: Request, caller: Caller, work: Callable[[], Any]) -> Response:
    """Do work while holding a place, and answer with what it returns as JSON."""
    state: State = request.app.state.ragkit

    async def held() -> Any:
        async with state.admission.place(caller) as place:
            return await in_thread(place, work)

    return JSONResponse(await while_connected(request, held(), ended=state.admission.ended))


async def in_thread(place: Place, work: Callable[[], T]) -> T:
    """Do work in a thread of a place, for the same caller."""
    return await asyncio.wrap_future(place.submit(work))


async def in_turn(request: Request, caller: Caller, work: Callable[[], T]) -> T:
    """Do work that is no question in a thread, when it is the key's turn."""
    state: State = request.app.state.ragkit
    async with state.quota.turn(caller):
        return await run_in_threadpool(work)
