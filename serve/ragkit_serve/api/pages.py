"""/v1/documents/{id}/pages: a page of a document's original PDF, and where quotations stand on it.

For whoever may read the document's text. The file is read and drawn anew for each page.
"""

from __future__ import annotations

from base64 import b64encode
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal

from fastapi import APIRouter, Path, Query, Request
from pydantic import BaseModel, ConfigDict, StringConstraints
from starlette.responses import Response

from ragkit.access.library import Caller
from ragkit.errors import NotFoundError
from ragkit.store.documents.browse import Browser
from ragkit.store.jobs.originals import Original, Originals
from ragkit.types import Span
from ragkit_serve.api import audit
from ragkit_serve.api.access import needs
from ragkit_serve.api.documents import visible
from ragkit_serve.api.errors import RESPONSES, ApiError
from ragkit_serve.api.paging import Id
from ragkit_serve.original.quote_matching import quote_of

if TYPE_CHECKING:
    from ragkit_serve.api.services import Services
    from ragkit_serve.api.state import State
    from ragkit_serve.original.quote_matching import Quote

router = APIRouter(tags=["documents"])

MAX_MARKED: Final = 20  # arbitrary: quotations at once
_DRAWING: Final = 1  # to be raised when the same page comes to be drawn otherwise
_MAX_PAGE: Final = 1_000_000  # arbitrary: of a number in an address
_MAX_PAGE_CHARS: Final = 200_000  # arbitrary: of a page's stored text
_EXAMPLE: Final[dict[str, Any]] = {
    "object": "document.page",
    "document": 3,
    "version": 1,
    "page": 2,
    "pages": 12,
    "width": 595.0,
    "height": 842.0,
    "marks": [{"left": 0.12, "top": 0.2, "width": 0.7, "height": 0.016}],
    "picture": None,
}
PageNumber = Annotated[int, Path(ge=1, le=_MAX_PAGE)]
Version = Annotated[int | None, Query(ge=1, le=1 << 30, description="Refuse any other version.")]
Place = Annotated[str, StringConstraints(pattern=r"^\d{1,10}-\d{1,10}$")]


class Mark(BaseModel):
    """A box on a page, in shares of its width and height from the upper left corner."""

    model_config = ConfigDict(frozen=True)

    left: float
    top: float
    width: float
    height: float


class DocumentPage(BaseModel):
    """A page of a document's original PDF: its size in points, and the boxes of what is marked.

    `picture` is the page as a PNG in base64, where it was asked for.
    """

    model_config = ConfigDict(frozen=True, json_schema_extra={"examples": [_EXAMPLE]})

    object: Literal["document.page"] = "document.page"
    document: int
    version: int
    page: int
    pages: int
    width: float
    height: float
    marks: list[Mark]
    picture: str | None = None


@router.get(
    "/v1/documents/{id}/pages/{page}.png",
    summary="Show a page of a document's original PDF",
    response_class=Response,
    responses={
        **RESPONSES,
        200: {
            "description": "The page as a picture, 1754 pixels on its longer side.",
            "content": {"image/png": {"schema": {"type": "string", "format": "binary"}}},
        },
        304: {"description": "The picture is the one of the ETag in If-None-Match."},
    },
)
def page_picture(
    request: Request,
    id: Id,
    page: PageNumber,
    caller: Annotated[Caller, needs("read")],
    version: Version = None,
) -> Response:
    """Draw a page; 404 where the original is no PDF, or is no longer there as it was read."""
    originals, original = _looked_up(request, caller, id, version)
    etag = f'"{original.content_hash[:40]}-{page}-{_DRAWING}"'
    # Asked again each time: somebody may have lost the right to read the document.
    headers = {"cache-control": "private, no-cache", "etag": etag}
    if etag in request.headers.get("if-none-match", ""):
        return Response(status_code=304, headers=headers)
    state: State = request.app.state.ragkit
    drawn = state.pages.draw(originals.read(original), page)
    return Response(drawn.picture, media_type="image/png", headers=headers)


@router.get(
    "/v1/documents/{id}/pages/{page}",
    summary="Find quotations on a page of a document's original PDF",
    responses=RESPONSES,
)
def page_marks(
    request: Request,
    id: Id,
    page: PageNumber,
    caller: Annotated[Caller, needs("read")],
    version: Version = None,
    mark: Annotated[
        list[Place],
        Query(max_length=MAX_MARKED, description="What to mark: START-END in the text."),
    ] = [],  # noqa: B006  FastAPI copies it
    picture: Annotated[bool, Query(description="With the picture of the page.")] = False,
) -> DocumentPage:
    """Return a page's size and the boxes of the characters START-END of the document's text.

    What cannot be found on the page is not marked.
    """
    originals, original = _looked_up(request, caller, id, version)
    quotes = _quotes(request, caller, original, page, [_span(place) for place in mark])
    state: State = request.app.state.ragkit
    drawn = state.pages.draw(originals.read(original), page, quotes=quotes, picture=picture)
    marks = [
        Mark(left=left, top=top, width=right - left, height=bottom - top)
        for left, top, right, bottom in drawn.marks
    ]
    return DocumentPage(
        document=id,
        version=original.version,
        page=page,
        pages=drawn.pages,
        width=drawn.width,
        height=drawn.height,
        marks=marks,
        picture=b64encode(drawn.picture).decode() if picture else None,
    )


def originals_of(services: Services, caller: Caller) -> Originals:
    """Return the originals that a caller may see; his collections are the asker's to check."""
    pool = services.database.pool
    return Originals(pool, caller.tenant, caller.readers, mask=services.settings.mask)


def _looked_up(
    request: Request, caller: Caller, id: int, version: int | None
) -> tuple[Originals, Original]:
    """Look an original up for a caller, and write down that he looks at it."""
    document = visible(request, caller, id)
    state: State = request.app.state.ragkit
    audit.note(
        state,
        request.scope,
        caller,
        "read page",
        collection=document.collection,
        document=id,
    )
    originals = originals_of(request.app.state.services, caller)
    original = originals.find(id)
    if version is not None and version != original.version:
        raise NotFoundError(
            f"Document {id} has been replaced since: it is at version {original.version} now."
        )
    return originals, original


def _span(place: str) -> Span:
    start, end = map(int, place.split("-"))
    if end < start:
        raise ApiError(400, f"mark {place} ends before it begins", param="mark")
    return Span(start, end)


def _quotes(
    request: Request, caller: Caller, original: Original, page: int, spans: list[Span]
) -> list[Quote]:
    """Take out of the stored text what the spans have on a page."""
    on_page = original.span(page)
    size = min(on_page.end - on_page.start, _MAX_PAGE_CHARS)
    if not spans or not size:
        return []
    pool = request.app.state.services.database.pool
    browser = Browser(pool, caller.tenant, caller.readers)
    text = browser.excerpt(original.document, on_page.start, size).text
    within = [Span(max(0, s.start - on_page.start), s.end - on_page.start) for s in spans]
    return [quote_of(text, span) for span in within if span.start < min(span.end, size)]
