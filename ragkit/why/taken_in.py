"""Whether a document is there, and what of it: the stages before any search.

It knows nothing of questions.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ragkit.errors import NotFoundError, UsageError
from ragkit.why.steps import Ledgered, Step

if TYPE_CHECKING:
    from ragkit.knowledge import KnowledgeBase
    from ragkit.types import Document

MAX_SHOWN: Final = 5  # documents that a name may mean; arbitrary


def named(kb: KnowledgeBase, name: str) -> Document | None:
    """Find a document of the collection by its id, its URI, or an end of that."""
    name = name.strip()
    if not name:
        raise UsageError("name a document: by its number, its URI, or the end of that")
    if name.isdecimal() and len(name) < 19:
        try:
            found = kb.store.document(int(name))
        except NotFoundError:
            pass
        else:
            if found.collection == kb.collection:
                return found
    every = kb.store.documents(kb.collection)
    exact = [one for one in every if one.uri == name]
    whole = [one for one in every if one.uri.endswith("/" + name.removeprefix("/"))]
    fitting = exact or whole or [one for one in every if one.uri.endswith(name)]
    if len(fitting) > 1:
        listed = ", ".join(f"{one.id} ({one.uri})" for one in fitting[:MAX_SHOWN])
        more = ", ..." if len(fitting) > MAX_SHOWN else ""
        raise UsageError(f"{name!r} may be {len(fitting)} documents: {listed}{more}; name one")
    return fitting[0] if fitting else None


def taken_in(kb: KnowledgeBase, name: str, document: Document | None) -> Step:
    if document is not None:
        says = f"document {document.id}, version {document.version}, of {document.uri}"
        return Step("document", True, says, {"document": document.id, "version": document.version})
    attempts = kb.store.attempts(kb.collection, name) if isinstance(kb.store, Ledgered) else ()
    for one in attempts[:1]:
        numbers = {"uri": one.uri, "state": one.state, "stage": one.stage, "reason": one.reason}
        if one.state == "failed":
            return Step(
                one.stage or "document",
                False,
                f"{one.uri} could not be taken in: {one.reason}",
                numbers,
                f"Correct what stands there ({one.reason}), and ingest the file again.",
            )
        if one.state in {"queued", "running"}:
            says = f"{one.uri} has not been taken in yet: its job is {one.state}"
            remedy = "Wait until it is done, and see that `ragkit worker` or `ragkit ingest` runs."
            return Step("document", False, says, numbers, remedy)
    elsewhere = _elsewhere(kb, name)
    if elsewhere:
        says = f"{name!r} is in collection {elsewhere!r}, not in {kb.collection!r}"
        remedy = f"Ask with --collection {elsewhere}."
        return Step("document", False, says, {"collection": elsewhere}, remedy)
    return Step(
        "document",
        False,
        f"no document of collection {kb.collection!r} is {name!r} or has a URI that ends so",
        remedy="Look for its name in `ragkit documents list`, or take it in by `ragkit ingest`.",
    )


def _elsewhere(kb: KnowledgeBase, name: str) -> str:
    for collection in kb.store.collections():
        if collection.name != kb.collection and any(
            one.uri.endswith(name) or str(one.id) == name
            for one in kb.store.documents(collection.name)
        ):
            return collection.name
    return ""


def parsed(kb: KnowledgeBase, document: Document) -> Step:
    pages = len(kb.store.pages(document.id))
    numbers: dict[str, float | str] = {"chars": document.chars, "pages": pages}
    if document.language:
        numbers["language"] = document.language
    says = f"{document.chars:,} characters" + (f" on {pages} pages" if pages else "")
    if kb.store.text(document.id).strip():
        return Step("parse", True, says, numbers)
    remedy = "Give a file with text in it: a scan has to be read by OCR first."
    return Step("parse", False, "no text was found in the file", numbers, remedy)


def chunked(document: Document) -> Step:
    numbers = {"chunks": document.chunks}
    if document.chunks:
        return Step(
            "chunk", True, f"{document.chunks:,} chunk{'s' * (document.chunks > 1)}", numbers
        )
    return Step("chunk", False, "no chunk was made of it", numbers, "Ingest the file again.")
