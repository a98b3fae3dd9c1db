"""Work that blocks, admitted as a question is: in a thread, given up when the client leaves."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextvars import copy_context
from typing import TYPE_CHECKING, Any, TypeVar

from starlette.responses import JSONResponse, Response

from ragkit_serve.api.sending import while_connected

if TYPE_CHECKING:
    from starlette.requests import Request

    from ragkit.library import Caller
    from ragkit_serve.api.state import State

T = TypeVar("T")


async def admitted(request: Request, caller: Caller, work: Callable[[], Any]) -> Response:
    """Do work while holding a place, and answer with what it returns as JSON."""
    state: State = request.app.state.ragkit

    async def held() -> Any:
        async with state.admission.place(caller):
            return await in_thread(state, work)

    return JSONResponse(await while_connected(request, held()))


async def in_thread(state: State, work: Callable[[], T]) -> T:
    """Do work in one of the places' threads, for the same caller."""
    loop = asyncio.get_running_loop()
    return await loop.run_in_executor(state.admission.threads, copy_context().run, work)
