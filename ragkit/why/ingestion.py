"""The stages before any search: ingestion, version, parsing, chunking."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ragkit.documents.lookup import Naming, fitting_best, numbered
from ragkit.documents.names import closest
from ragkit.filters.tree import Comparison
from ragkit.why.steps import Dated, Ledgered, Step

if TYPE_CHECKING:
    from ragkit.knowledge.base import KnowledgeBase
    from ragkit.types import Document


def ingestion_step(kb: KnowledgeBase, name: str, document: Document | None) -> Step:
    name = name.strip()
    if document is not None:
        says = f"document {document.id}, version {document.version}, of {document.uri}"
        return Step("document", True, says, {"document": document.id, "version": document.version})
    attempts = kb.store.attempts(kb.collection, name) if isinstance(kb.store, Ledgered) else ()
    for attempt in attempts[:1]:
        numbers = {
            "uri": attempt.uri,
            "state": attempt.state,
            "stage": attempt.stage,
            "reason": attempt.reason,
        }
        if attempt.state == "failed":
            return Step(
                attempt.stage or "document",
                False,
                f"{attempt.uri} could not be taken in: {attempt.reason}",
                numbers,
                f"Correct what stands there ({attempt.reason}), and ingest the file again.",
            )
        if attempt.state in {"queued", "running"}:
            says = f"{attempt.uri} has not been taken in yet: its job is {attempt.state}"
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
    return next((row.collection for row in fitting_best(kb.store, None, name)), "")


def _near(kb: KnowledgeBase, name: str) -> Sequence[str]:
    if isinstance(kb.store, Naming):
        return kb.store.near(kb.collection, name)
    return closest(name, (row.uri for row in kb.store.documents(kb.collection)))


def version_step(kb: KnowledgeBase, document: Document) -> tuple[Document, Step | None]:
    """Return the version of a document that is searched, and a step where it matters."""
    of_it = Comparison("eq", "document", (document.id,))
    with kb.store.snapshot() as reader:
        if isinstance(reader, Dated):
            number = reader.version(kb.collection, document.id)
            says = "it was not current at that time, or its version of then was not kept"
            remedy = f"`ragkit documents versions {document.id}` lists which was current when."
        else:
            exists = not document.chunks or reader.matching(kb.collection, of_it)
            number = document.id if exists else None
            says = f"version {document.version} was replaced: searches of today know nothing of it"
            remedy = "Name the document by its URI, or ask with --as-of a time of this version."
    if number is None:
        numbers = {"document": document.id, "version": document.version}
        return document, Step("version", False, says, numbers, remedy)
    if number == document.id:
        return document, None
    current = kb.store.document(number)
    says = f"version {current.version} was current then: document {current.id}"
    return current, Step(
        "version", True, says, {"document": current.id, "version": current.version}
    )


def parse_step(kb: KnowledgeBase, document: Document) -> Step:
    text, starts = kb.store.sources([document.id]).get(document.id, ("", ()))
    pages = len(starts)
    numbers: dict[str, float | str] = {"chars": document.chars, "pages": pages}
    if document.language:
        numbers["language"] = document.language
    says = f"{document.chars:,} characters" + (
        f" on {pages} page{'s' * (pages > 1)}" if pages else ""
    )
    if text.strip():
        return Step("parse", True, says, numbers)
    remedy = "Give a file with text in it: a scan has to be read by OCR first."
    return Step("parse", False, "no text was found in the file", numbers, remedy)


def chunk_step(document: Document) -> Step:
    numbers = {"chunks": document.chunks}
    if document.chunks:
        return Step(
            "chunk", True, f"{document.chunks:,} chunk{'s' * (document.chunks > 1)}", numbers
        )
    return Step("chunk", False, "no chunk was made of it", numbers, "Ingest the file again.")
