"""What the page's own scripts ask for beside the API: their files, and what is made for the page.

Searches, texts, uploads, deletions, names, exports and ratings they have from the API, under /v1.
"""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final
from uuid import UUID

from fastapi import APIRouter, Query, Request
from starlette.responses import FileResponse, JSONResponse, Response

from ragkit.access.library import Caller
from ragkit.embed.unread_languages import notice
from ragkit.errors import NotFoundError
from ragkit.knowledge.base import PASSAGES
from ragkit.store.documents.file_list import Files, ListedFile, Sort
from ragkit.store.jobs.upload_bytes import PREFIX
from ragkit.store.people.conversations import missing
from ragkit_serve.api import audit
from ragkit_serve.api.access import needs, public
from ragkit_serve.api.collections import Name, check_visible
from ragkit_serve.api.gate import COOKIE
from ragkit_serve.api.pages import originals_of
from ragkit_serve.page.file_types import ranks, type_of
from ragkit_serve.page.source import source_html
from ragkit_serve.page.suggestions import Suggestions
from ragkit_serve.page.turn import name_of, turn_html
from ragkit_serve.page.words import WORDS, language_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ragkit.settings.settings import Settings
    from ragkit.store.people.conversations import StoredConversation, StoredTurn
    from ragkit_serve.api.services import Services

router = APIRouter()
Reader = Annotated[Caller, needs("read")]
FOLDER: Final = Path(__file__).with_name("static")
TYPES: Final = {".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml"}
FILES: Final = {path.name: TYPES[path.suffix] for path in FOLDER.iterdir() if path.suffix in TYPES}
MAX_DOCUMENTS: Final = 500  # arbitrary: of a list
MAX_OFFSET: Final = 1 << 30


@router.get("/ui/static/look.css", include_in_schema=False, dependencies=[public()])
async def look() -> Response:
    """Return the colours that all pages share, the log-in page included."""
    return _file("look.css")


@router.get("/ui/static/mark.svg", include_in_schema=False, dependencies=[public()])
async def mark() -> Response:
    """Return the product's mark."""
    return _file("mark.svg")


@router.get("/ui/static/{name}", include_in_schema=False)
def static(name: str, caller: Reader) -> Response:
    """Return one of the page's own files."""
    if name not in FILES:
        raise NotFoundError(f"there is no file {name[:40]!r}")
    return _file(name)


def _file(name: str) -> Response:
    headers = {"cache-control": "no-cache"}  # its ETag saves the transfer
    return FileResponse(FOLDER / name, media_type=FILES[name], headers=headers)


@router.get("/ui/me", include_in_schema=False)
def me(request: Request, caller: Reader) -> Response:
    """Return who the page's user is, what he may do, and the settings that the page begins with."""
    settings = request.app.state.services.settings
    usual = settings.collection
    return _fresh(
        {
            # Keys that nobody named a principal for act for the settings', which names nobody.
            "principal": caller.principal if caller.principal != settings.principal else "",
            # A cookie may be left from before, where no log-in is needed.
            "logged_in": COOKIE in request.cookies and not caller.operator,
            "writes": "write" in caller.scopes,
            "manages": "admin" in caller.scopes,
            "model": model_name(settings),
            "quotes": settings.llm_url is None,
            "collection": usual if caller.may_see(usual) else None,
            "passages": PASSAGES,
            "max_upload_mb": settings.serve_max_upload_mb,
        }
    )


def model_name(settings: Settings) -> str | None:
    """Name the language model of the settings; None where they name none."""
    url = settings.llm_url or ""
    local = url.removeprefix("local:").rpartition("/")[2] if url.startswith("local:") else ""
    return settings.llm_model or local or None


@router.get("/ui/models", include_in_schema=False)
def models(request: Request, caller: Reader) -> Response:
    """Return the language models that a question may choose from, the usual one first.

    Asked apart from what the page begins with: a model server that is slow delays only this.
    """
    library = request.app.state.services.library
    return _fresh({"models": list(library.models())})


@router.get("/ui/documents/{collection}", include_in_schema=False)
def documents(
    request: Request,
    collection: Name,
    caller: Reader,
    part: Annotated[str, Query(max_length=200)] = "",
    limit: Annotated[int, Query(ge=1, le=MAX_DOCUMENTS)] = MAX_DOCUMENTS,
    offset: Annotated[int, Query(ge=0, le=MAX_OFFSET)] = 0,
    sort: Sort = "name",
    descending: bool = False,
    uploads: bool = False,
) -> Response:
    """List the documents whose title or address has a part; with `uploads`, those under way too."""
    check_visible(caller, collection)
    services: Services = request.app.state.services
    words = _words(request)
    listed = Files(services.database.pool, caller.tenant, caller.readers).page(
        collection,
        part.strip(),
        limit=limit,
        offset=offset,
        sort=sort,
        descending=descending,
        types=ranks(words),
        uploads=uploads,
    )
    rows = [_shown(file, words) for file in listed.files]
    return _fresh({"documents": rows, "matched": listed.matched, "all": listed.all})


@router.get("/ui/suggestions/{collection}", include_in_schema=False)
def suggestions(request: Request, collection: Name, caller: Reader) -> Response:
    """Return up to three questions that the collection's documents answer."""
    check_visible(caller, collection)
    services: Services = request.app.state.services
    language = language_of(request.headers.get("accept-language", ""))
    suggested: Suggestions = request.app.state.suggestions
    questions = suggested.of(services.library, caller, collection, language)
    return _fresh({"questions": questions})


@router.get("/ui/notice/{collection}", include_in_schema=False)
def languages(request: Request, collection: Name, caller: Reader) -> Response:
    """Say which languages the collection's model reads, or which documents it does not read."""
    check_visible(caller, collection)
    services: Services = request.app.state.services
    language = language_of(request.headers.get("accept-language", ""))
    return _fresh({"notice": notice(services.library.store(caller), collection, language)})


@router.get("/ui/conversations/{id}", include_in_schema=False)
def conversation(request: Request, id: UUID, caller: Reader) -> Response:
    """Return a conversation's title, collection and turns as HTML."""
    services: Services = request.app.state.services
    stored, turns = _seen(services, caller, id)
    _note(request, caller, stored)
    markdown = services.settings.llm_url is not None
    html = "".join(turn_html(turn, id, markdown=markdown, words=_words(request)) for turn in turns)
    return _fresh({"title": stored.title, "collection": stored.collection, "html": html})


@router.get("/ui/sources/{id}/{ordinal}/{n}", include_in_schema=False)
def source(request: Request, id: UUID, ordinal: int, n: int, caller: Reader) -> Response:
    """Return the source that has the number n in a turn."""
    services: Services = request.app.state.services
    stored, turns = _seen(services, caller, id)
    _note(request, caller, stored)
    cited = [
        citation
        for turn in turns
        for citation in turn.citations
        if (turn.ordinal, citation.n) == (ordinal, n)
    ]
    if not cited:
        raise NotFoundError("there is no such citation")
    store = services.library.store(caller)
    originals = originals_of(services, caller)
    return _fresh({"html": source_html(store, caller, cited, _words(request), originals)})


def _shown(file: ListedFile, words: Mapping[str, str]) -> dict[str, Any]:
    """Show a file to the page; `id` is its document's number, None while there is none."""
    fields = asdict(file)
    del fields["document"], fields["title"], fields["kind"]
    return fields | {
        "id": file.document,
        "name": name_of(file.title, file.uri.removeprefix(PREFIX)),
        "file": name_of("", file.uri.removeprefix(PREFIX)),
        "type": words[type_of(file.kind)],
        "date": file.date.isoformat(),
    }


def _seen(
    services: Services, caller: Caller, id: UUID
) -> tuple[StoredConversation, Sequence[StoredTurn]]:
    conversations = services.library.conversations(caller)
    stored = conversations.get(id)
    if not caller.may_see(stored.collection):
        raise missing(str(id))
    return stored, conversations.turns(id)


def _note(request: Request, caller: Caller, stored: StoredConversation) -> None:
    state = request.app.state.ragkit
    audit.note(state, request.scope, caller, "read", collection=stored.collection)


def _words(request: Request) -> Mapping[str, str]:
    return WORDS[language_of(request.headers.get("accept-language", ""))]


def _fresh(value: dict[str, Any]) -> Response:
    return JSONResponse(value, headers={"cache-control": "no-store"})
