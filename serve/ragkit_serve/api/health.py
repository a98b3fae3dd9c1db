"""Is the process alive, can it answer, and what has it counted."""

from __future__ import annotations

from typing import Annotated

from anyio import to_thread
from fastapi import APIRouter, Request
from pydantic import BaseModel
from starlette.responses import JSONResponse, Response

from ragkit.access.library import Caller
from ragkit.errors import DatabaseError
from ragkit.store.open import Database
from ragkit_serve.api.access import needs, public
from ragkit_serve.api.errors import RESPONSES
from ragkit_serve.api.metrics import CONTENT_TYPE
from ragkit_serve.api.state import State

router = APIRouter()
DATABASE_WAIT_S = 2.0  # arbitrary: a probe must not hang with what it probes


class Health(BaseModel):
    """ "ok", or what is missing; `detail` says what else does not run."""

    status: str
    detail: str = ""


@router.head("/livez", dependencies=[public()], include_in_schema=False)
@router.get("/livez", dependencies=[public()], summary="Is the process alive?")
async def livez() -> Health:
    """Answer as long as the process can."""
    return Health(status="ok")


@router.head("/readyz", dependencies=[public()], include_in_schema=False)
@router.get(
    "/readyz",
    dependencies=[public()],
    responses={503: {"model": Health, "description": "Not now."}},
    summary="Can it answer?",
)
async def readyz(request: Request) -> Response:
    """Answer 200 when questions can be answered; 503 while shutting down or without database."""
    state: State = request.app.state.ragkit
    if state.admission.draining:
        return JSONResponse({"status": "shutting down"}, 503)
    try:
        await to_thread.run_sync(_ask, state.services.database)
    except DatabaseError:
        return JSONResponse({"status": "the database cannot be reached"}, 503)
    down = sorted(name for name, up in _processes(state).items() if not up)
    if down:
        keeps = "which keeps ending soon after its start"
        return JSONResponse({"status": "ok", "detail": f"without {', '.join(down)}, {keeps}"})
    return JSONResponse({"status": "ok"})


@router.get(
    "/metrics",
    responses=RESPONSES | {200: {"content": {"text/plain": {}}, "description": "Figures."}},
    response_class=Response,
    summary="Figures for Prometheus",
)
def metrics(request: Request, caller: Annotated[Caller, needs("metrics")]) -> Response:
    """Write what was counted, in Prometheus' text format."""
    state: State = request.app.state.ragkit
    _count_jobs(state)
    for name, up in _processes(state).items():
        state.metrics.processes.labels(name).set(up)
    return Response(state.metrics.text(), media_type=CONTENT_TYPE)


def _ask(database: Database) -> None:
    import psycopg
    from psycopg_pool import PoolTimeout

    try:
        with database.pool.connection(timeout=DATABASE_WAIT_S) as conn:
            conn.execute("SELECT 1")
    except (psycopg.Error, PoolTimeout) as error:
        raise DatabaseError("the database cannot be reached") from error


def _processes(state: State) -> dict[str, bool]:
    """Map the server's processes to whether they are up; empty where this one is alone."""
    status = state.services.status
    return {} if status is None else status.read()


def _count_jobs(state: State) -> None:
    from ragkit.store.jobs.uploads import count_open

    for name, count in count_open(state.services.database.pool).items():
        state.metrics.jobs.labels(name).set(count)
