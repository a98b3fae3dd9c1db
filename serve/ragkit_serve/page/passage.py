"""GET /ui/passages/{document}: the place of a passage that a search found, for the page's panel."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Final

from fastapi import APIRouter, Query, Request
from starlette.responses import JSONResponse, Response

from ragkit.access.library import Caller
from ragkit.errors import NotFoundError
from ragkit.store.documents.browse import Browser
from ragkit.types import Citation
from ragkit_serve.api import audit
from ragkit_serve.api.access import needs
from ragkit_serve.api.documents import visible
from ragkit_serve.api.errors import ApiError
from ragkit_serve.api.pages import originals_of
from ragkit_serve.api.paging import Id
from ragkit_serve.page.source import passage_html
from ragkit_serve.page.words import WORDS, language_of

if TYPE_CHECKING:
    from ragkit.store.documents.browse import ListedDocument
    from ragkit_serve.api.services import Services

router = APIRouter()
MAX_PLACE: Final = 1 << 30  # more than a document's text can have
Place = Annotated[int, Query(ge=0, le=MAX_PLACE)]


@router.get("/ui/passages/{document}", include_in_schema=False)
def passage(
    request: Request,
    document: Id,
    version: Annotated[int, Query(ge=1, le=MAX_PLACE)],
    start: Place,
    end: Place,
    caller: Annotated[Caller, needs("read")],
) -> Response:
    """Return the place `start:end` of a document, with what is around it, as HTML."""
    services: Services = request.app.state.services
    state = request.app.state.ragkit
    listed = visible(request, caller, document)
    audit.note(
        state, request.scope, caller, "read", collection=listed.collection, document=document
    )
    words = WORDS[language_of(request.headers.get("accept-language", ""))]
    if version != listed.version:
        raise NotFoundError(words["passage_replaced"])
    if not start < end <= listed.chars:
        raise ApiError(400, f"{start}:{end} is no place in the document", param="start")
    browser = Browser(services.database.pool, caller.tenant, caller.readers)
    place = _place(browser, listed, start, end)
    originals = originals_of(services, caller)
    html = passage_html(services.library.store(caller), place, words, originals)
    return JSONResponse({"html": html}, headers={"cache-control": "no-store"})


def _place(browser: Browser, listed: ListedDocument, start: int, end: int) -> Citation:
    """Describe a place as citations do; it stands on the page of the passage that it begins in."""
    chunks = browser.excerpt(listed.id, start, 1).chunks
    return Citation(
        n=0,
        document=listed.id,
        uri=listed.uri,
        title=listed.title,
        page=chunks[0].page if chunks else None,
        start=start,
        end=end,
        quote="",
        version=listed.version,
        headings=chunks[0].headings if chunks else (),
    )
