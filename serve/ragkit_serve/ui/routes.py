"""What the page's own script asks for: its files, a conversation as HTML, the source of a citation.

Lists, names, exports and ratings it has from the API, under /v1.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final
from uuid import UUID

from fastapi import APIRouter, Request
from starlette.responses import FileResponse, JSONResponse, Response

from ragkit.errors import NotFoundError
from ragkit.library import Caller
from ragkit.store.conversations import missing
from ragkit_serve.api.access import needs
from ragkit_serve.api.gate import COOKIE
from ragkit_serve.ui.source import source_html
from ragkit_serve.ui.turn import turn_html
from ragkit_serve.ui.words import WORDS, language_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ragkit.store.conversations import StoredConversation, StoredTurn
    from ragkit_serve.services import Services

router = APIRouter()
Reader = Annotated[Caller, needs("read")]
FOLDER: Final = Path(__file__).with_name("static")
FILES: Final = {
    "ragkit.js": "text/javascript",
    "server.js": "text/javascript",
    "ragkit.css": "text/css",
}


@router.get("/ui/static/{name}", include_in_schema=False)
def static(name: str, caller: Reader) -> Response:
    """Return one of the page's own files."""
    if name not in FILES:
        raise NotFoundError(f"there is no file {name[:40]!r}")
    headers = {"cache-control": "no-cache"}  # its ETag saves the transfer
    return FileResponse(FOLDER / name, media_type=FILES[name], headers=headers)


@router.get("/ui/me", include_in_schema=False)
def me(request: Request, caller: Reader) -> Response:
    """Tell who the page's user is, and whether there is a log-in that he can end."""
    return _fresh({"principal": caller.principal, "logged_in": COOKIE in request.cookies})


@router.get("/ui/conversations/{id}", include_in_schema=False)
def conversation(request: Request, id: UUID, caller: Reader) -> Response:
    """Return a conversation's title, collection and turns as HTML."""
    services: Services = request.app.state.services
    stored, turns = _seen(services, caller, id)
    markdown = services.settings.llm_url is not None
    html = "".join(turn_html(turn, id, markdown=markdown, words=_words(request)) for turn in turns)
    return _fresh({"title": stored.title, "collection": stored.collection, "html": html})


@router.get("/ui/sources/{id}/{ordinal}/{n}", include_in_schema=False)
def source(request: Request, id: UUID, ordinal: int, n: int, caller: Reader) -> Response:
    """Return the source that has the number n in a turn."""
    services: Services = request.app.state.services
    _, turns = _seen(services, caller, id)
    cited = [
        citation
        for turn in turns
        for citation in turn.citations
        if (turn.ordinal, citation.n) == (ordinal, n)
    ]
    if not cited:
        raise NotFoundError("there is no such citation")
    store = services.library.store(caller)
    return _fresh({"html": source_html(store, caller, cited, _words(request))})


def _seen(
    services: Services, caller: Caller, id: UUID
) -> tuple[StoredConversation, Sequence[StoredTurn]]:
    conversations = services.library.conversations(caller)
    stored = conversations.get(id)
    if not caller.may_see(stored.collection):
        raise missing(str(id))
    return stored, conversations.turns(id)


def _words(request: Request) -> Mapping[str, str]:
    return WORDS[language_of(request.headers.get("accept-language", ""))]


def _fresh(value: dict[str, Any]) -> Response:
    return JSONResponse(value, headers={"cache-control": "no-store"})
