"""The app: every layer and every route of the HTTP API, composed in one place.

From outside in: observe, headers for browsers, CORS where it is wanted, the gate, bounds on bodies,
strict JSON, routes.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from fastapi import APIRouter, FastAPI
from fastapi.openapi.utils import get_openapi
from starlette.responses import JSONResponse

from ragkit import __version__
from ragkit.model.open import is_served
from ragkit.settings.hosts import is_loopback
from ragkit.settings.settings import Settings
from ragkit_serve.api import (
    chat,
    collections,
    conversations,
    documents,
    embeddings,
    errors,
    feedback,
    health,
    jobs,
    kept_answers,
    login,
    models,
    pages,
    rerank,
    search,
    sharing,
    versions,
)
from ragkit_serve.api.access import needs
from ragkit_serve.api.admission import Admission
from ragkit_serve.api.bodies import BodyLimits
from ragkit_serve.api.gate import LOOPBACK_NAMES, Gate
from ragkit_serve.api.json_bodies import JsonBodies
from ragkit_serve.api.keyring import Keyring
from ragkit_serve.api.metrics import Metrics
from ragkit_serve.api.observe import Observe
from ragkit_serve.api.quota import Quota
from ragkit_serve.api.services import Services
from ragkit_serve.api.state import State
from ragkit_serve.api.upstream import Upstream
from ragkit_serve.original.renderer import PageRenderer
from ragkit_serve.page.csp import Protected

GROUPS = (
    *(chat, kept_answers, models, embeddings, rerank, search, collections, documents, pages, jobs),
    *(conversations, feedback, health, login, sharing, versions),
)
ABOUT = (
    "Answers from private documents with checked citations, in OpenAI's wire format, and the"
    " documents, conversations and ratings behind them."
)


def create_app(services: Services, *, ui: bool = False, shared_metrics: bool = False) -> FastAPI:
    """Make the app over open services, which stay their opener's to close.

    With `ui` the chat page is at /. With `shared_metrics` several processes add theirs up.
    """
    settings = services.settings
    state = _state(services, shared_metrics=shared_metrics)

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        try:
            yield
        finally:
            state.admission.close()
            if state.upstream is not None:
                await state.upstream.close()

    app = FastAPI(
        title="ragkit",
        version=__version__,
        description=ABOUT,
        openapi_url=None,
        docs_url=None,  # its page loads scripts from elsewhere
        redoc_url=None,
        lifespan=lifespan,
        redirect_slashes=False,
    )
    app.state.services = services
    app.state.ragkit = state
    for group in GROUPS:
        app.include_router(group.router)
    app.include_router(_described(app))
    errors.install(app)
    if ui:
        from ragkit_serve.page.mount import mount

        mount(app)
    _add_layers(app, settings, state)
    return app


def _add_layers(app: FastAPI, settings: Settings, state: State) -> None:
    """Put the layers around the routes, the innermost first."""
    origins = (settings.serve_origins or "").split()
    app.add_middleware(JsonBodies)
    app.add_middleware(BodyLimits, max_upload_bytes=settings.serve_max_upload_mb << 20)
    app.add_middleware(
        Gate,
        keyring=state.keyring,
        quota=state.quota,
        hosts=_hosts(settings),
        any_address=not is_loopback(settings.serve_host),
        origins=origins,
    )
    if origins:
        from starlette.middleware.cors import CORSMiddleware

        app.add_middleware(
            CORSMiddleware,
            allow_origins=origins,
            allow_methods=["GET", "POST", "PUT", "PATCH", "DELETE"],
            allow_headers=["authorization", "content-type", "idempotency-key", "x-request-id"],
            expose_headers=["x-request-id", "retry-after"],
        )
    app.add_middleware(Protected)
    app.add_middleware(Observe, metrics=state.metrics)


def _state(services: Services, *, shared_metrics: bool) -> State:
    settings = services.settings
    metrics = Metrics(shared=shared_metrics)
    quota = Quota(
        rate=settings.serve_key_rate, concurrency=settings.serve_key_concurrency, metrics=metrics
    )
    return State(
        services=services,
        metrics=metrics,
        quota=quota,
        admission=Admission(
            concurrency=settings.serve_concurrency,
            queue=2 * settings.serve_concurrency,  # arbitrary
            quota=quota,
            metrics=metrics,
        ),
        keyring=Keyring(services.database, settings, loopback=is_loopback(settings.serve_host)),
        upstream=Upstream(settings) if is_served(settings) else None,
        pages=PageRenderer(),
    )


def _described(app: FastAPI) -> APIRouter:
    """Return the route of the OpenAPI document."""
    router = APIRouter()

    @router.get("/openapi.json", include_in_schema=False, dependencies=[needs("read")])
    def openapi() -> JSONResponse:
        return JSONResponse(document(app))

    return router


def document(app: FastAPI) -> dict[str, Any]:
    """Describe every route of the API by OpenAPI 3.1; made once."""
    if app.openapi_schema is None:
        app.openapi_schema = get_openapi(
            title=app.title, version=app.version, description=ABOUT, routes=app.routes
        )
        for path in app.openapi_schema["paths"].values():
            for operation in path.values():
                # FastAPI's own answer to a bad request; here it is 400, and declared.
                operation["responses"].pop("422", None)
    return app.openapi_schema


def _hosts(settings: Settings) -> set[str]:
    return {*LOOPBACK_NAMES, settings.serve_host, *(settings.serve_hosts or "").lower().split()}
