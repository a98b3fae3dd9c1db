"""Whether a document is there, and what of it: the stages before any search.

It knows nothing of questions.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ragkit.document_names import Naming, fitting_best, numbered
from ragkit.filters import Comparison
from ragkit.naming import closest
from ragkit.why.steps import Dated, Ledgered, Step

if TYPE_CHECKING:
    from ragkit.knowledge import KnowledgeBase
    from ragkit.types import Document


def taken_in(kb: KnowledgeBase, name: str, document: Document | None) -> Step:
    name = name.strip()
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
    says = f"no document of collection {kb.collection!r} is {name!r} or has a URI that ends so"
    remedy = "Look for its name in `ragkit documents list`, or take it in by `ragkit ingest`."
    close = ", ".join(_near(kb, name))
    if close:
        remedy = f"Did you mean {close}? Or take it in by `ragkit ingest`."
    return Step("document", False, says, {"like": close} if close else {}, remedy)


def _elsewhere(kb: KnowledgeBase, name: str) -> str:
    """Name another collection that has it; "" where none has."""
    document = numbered(kb.store, name)
    if document is not None:
        return document.collection
    return next((one.collection for one in fitting_best(kb.store, None, name)), "")


def _near(kb: KnowledgeBase, name: str) -> Sequence[str]:
    if isinstance(kb.store, Naming):
        return kb.store.near(kb.collection, name)
    return closest(name, (one.uri for one in kb.store.documents(kb.collection)))


def version(kb: KnowledgeBase, document: Document) -> tuple[Document, Step | None]:
    """Return the version of a document that is searched, with what there is to say of that."""
    of_it = Comparison("eq", "document", (document.id,))
    with kb.store.snapshot() as reader:
        if isinstance(reader, Dated):
            number = reader.version(kb.collection, document.id)
            says = "it was not current at that time, or its version of then was not kept"
            remedy = f"`ragkit documents versions {document.id}` lists which was current when."
        else:
            there = not document.chunks or reader.matching(kb.collection, of_it)
            number = document.id if there else None
            says = f"version {document.version} was replaced: searches of today know nothing of it"
            remedy = "Name the document by its URI, or ask with --as-of a time of this version."
    if number is None:
        numbers = {"document": document.id, "version": document.version}
        return document, Step("version", False, says, numbers, remedy)
    if number == document.id:
        return document, None
    old = kb.store.document(number)
    says = f"version {old.version} was current then: document {old.id}"
    return old, Step("version", True, says, {"document": old.id, "version": old.version})


def parsed(kb: KnowledgeBase, document: Document) -> Step:
    pages = len(kb.store.pages(document.id))
    numbers: dict[str, float | str] = {"chars": document.chars, "pages": pages}
    if document.language:
        numbers["language"] = document.language
    says = f"{document.chars:,} characters" + (
        f" on {pages} page{'s' * (pages > 1)}" if pages else ""
    )
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
