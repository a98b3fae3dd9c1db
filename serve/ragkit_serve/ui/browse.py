"""What the Documents tab does: list a collection, show a document's text, delete, upload, report.

Plain functions of a caller and values; it knows nothing of Gradio. Whatever a caller may not see is
not there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from ragkit.errors import NotFoundError, UsageError
from ragkit.render import printable
from ragkit.store.browse import Browser
from ragkit.store.sources import Sources, Upload
from ragkit.store.uploads import UploadJobs
from ragkit_serve.ui.turn import name_of

if TYPE_CHECKING:
    from ragkit.library import Caller
    from ragkit.store.browse import Found
    from ragkit.store.uploads import UploadJob
    from ragkit.types import Document
    from ragkit_serve.services import Services

Words = Mapping[str, str]
Rows = list[list[str]]
MAX_TEXT_CHARS: Final = 200_000  # arbitrary: what a browser shows without effort
MAX_FILES: Final = 100  # on their way, of one page


@dataclass(frozen=True, slots=True)
class Files:
    """Files that a page has sent: the jobs of those taken over, name and reason of the others."""

    jobs: tuple[int, ...] = ()
    refused: tuple[tuple[str, str], ...] = ()

    def __add__(self, other: Files) -> Files:
        jobs, refused = self.jobs + other.jobs, self.refused + other.refused
        return Files(jobs[-MAX_FILES:], refused[-MAX_FILES:])


def documents(
    services: Services, caller: Caller, collection: str, wanted: str = "", *, limit: int
) -> Found:
    """Find the documents whose name or address has the wanted text, the first `limit` by name.

    Raises NotFoundError, DatabaseError.
    """
    name = services.library.name(caller, collection)
    browser = Browser(services.database.pool, caller.tenant, caller.readers)
    return browser.find(name, wanted.strip(), limit=limit)


def rows(found: Found, words: Words) -> tuple[Rows, str]:
    """Make table rows of documents, and say how many of how many they are."""
    table = [
        [
            str(one.id),
            printable(name_of(one.title, one.uri)),
            one.language,
            f"{one.chunks:,}",
            f"{one.chars:,}",
            str(one.version),
            printable(one.uri),
        ]
        for one in found.documents
    ]
    return table, counted(found, words)


def counted(found: Found, words: Words) -> str:
    """Say how many documents are shown, how many there are, and how many fit if that is neither."""
    counts = {"shown": len(found.documents), "matched": found.matched, "all": found.all}
    between = len(found.documents) < found.matched < found.all
    said = words["documents_first" if between else "documents_shown"]
    return said.format(**{name: f"{count:,}" for name, count in counts.items()})


def text(services: Services, caller: Caller, document: int, words: Words) -> tuple[str, str]:
    """Return a document's heading and its text with page marks. Raises NotFoundError."""
    found = _seen(services, caller, document)
    store = services.library.store(caller)
    whole = store.text(document)
    parts, at = [], 0
    for page in store.pages(document):
        if page.start > MAX_TEXT_CHARS:
            break
        parts.append(whole[at : page.start])
        parts.append(f"\n—— {words['page'].format(page=page.number)} ——\n")
        at = page.start
    parts.append(whole[at:MAX_TEXT_CHARS])
    if len(whole) > MAX_TEXT_CHARS:
        cut = words["text_cut"].format(shown=f"{MAX_TEXT_CHARS:,}", all=f"{len(whole):,}")
        parts.append(f"\n\n[{cut}]")
    return printable(name_of(found.title, found.uri)), printable("".join(parts)).lstrip("\n")


def delete(services: Services, caller: Caller, document: int, words: Words) -> str:
    """Delete a document. Raises NotFoundError, UsageError for one who may not."""
    _check_write(caller, words)
    found = _seen(services, caller, document)
    services.library.store(caller).delete_document(found.collection, document)
    return words["document_deleted"].format(title=printable(name_of(found.title, found.uri)))


def upload(
    services: Services, caller: Caller, collection: str | None, paths: Sequence[str], words: Words
) -> Files:
    """Hand uploaded files over to the worker, each for itself; the temporary files are deleted.

    Raises UsageError for one who may not, NotFoundError, DatabaseError.
    """
    jobs: list[int] = []
    refused: list[tuple[str, str]] = []
    try:
        _check_write(caller, words)
        name = services.library.name(caller, collection)
        services.library.store(caller).create_collection(name)
        sources = Sources(services.database.pool, caller.tenant, caller.readers)
        for path in map(Path, paths):
            with path.open("rb") as file:
                try:
                    jobs += sources.keep(
                        name, [Upload(path.name, file)], principal=caller.principal
                    )
                except UsageError as error:
                    refused.append((path.name, str(error)))
    finally:
        for path in map(Path, paths):
            path.unlink(missing_ok=True)
    return Files(tuple(jobs), tuple(refused))


def progress(services: Services, caller: Caller, files: Files, words: Words) -> tuple[Rows, bool]:
    """Tell how files on their way stand, latest first, and whether any is not yet at its end."""
    jobs = UploadJobs(services.database.pool, caller.tenant, caller.readers)
    seen = [job for job in jobs.some(files.jobs) if caller.may_see(job.collection)]
    table = [
        [printable(job.name), words[f"state_{job.state}"], _note(job, words)]
        for job in reversed(seen)
    ]
    table += [[printable(name), words["state_failed"], why] for name, why in files.refused]
    return table, any(job.state in {"queued", "running"} for job in seen)


def _note(job: UploadJob, words: Words) -> str:
    if job.state == "failed":
        return printable(f"{job.stage}: {job.reason}" if job.stage else job.reason)
    if job.state == "running" and job.total:
        return words["progress"].format(done=job.done, total=job.total)
    return ""


def _seen(services: Services, caller: Caller, document: int) -> Document:
    found = services.library.store(caller).document(document)
    if not caller.may_see(found.collection):
        raise NotFoundError(f"There is no document {document}.")
    return found


def _check_write(caller: Caller, words: Words) -> None:
    if "write" not in caller.scopes:
        raise UsageError(words["no_write"])


def can_write(caller: Caller) -> bool:
    """Tell whether a caller may add and delete documents."""
    return "write" in caller.scopes
