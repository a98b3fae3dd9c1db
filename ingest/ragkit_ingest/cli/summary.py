"""What an ingestion did, in lines for people: each begins with a heading and has its numbers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import Final

from ragkit.cli.note_words import note_lines
from ragkit.cli.words import counted, say, sentence
from ragkit_ingest.run.report import Failure, IngestReport
from ragkit_ingest.run.skipped import Skipped

_MAX_REASONS: Final = 8  # shown of the skipped files; arbitrary, as the next two
_MAX_NAMES: Final = 5  # shown for each reason
_MAX_FAILURES: Final = 20


def summary(report: IngestReport) -> Iterator[str]:
    """Yield lines that say what became of the files.

    >>> list(summary(IngestReport(added=1, unchanged=2, chunks=3, seconds=0.5)))
    ['Added: 1 document (3 passages)', 'Unchanged: 2 documents', 'Time: 0.5 s']
    """
    lines = _count_lines(report)
    if not lines:
        is_empty = not (report.notes or report.notices or report.skipped or report.failures)
        lines = [say("No files were found." if is_empty else "Added: nothing")]
    yield from lines
    yield from note_lines(report.notes)
    yield from report.notices
    yield from skipped_lines(report.skipped_by_reason, report.skipped_files)
    yield from failure_lines(report.failures)
    yield say("Time: {seconds} s", seconds=f"{report.seconds:.1f}")


def _count_lines(report: IngestReport) -> list[str]:
    counts = {
        "Added: {documents}": report.added,
        "Updated: {documents}": report.updated,
        "Unchanged: {documents}": report.unchanged,
        "Deleted: {documents}": report.deleted,
    }
    lines = [
        say(text, documents=counted(number, "document"))
        for text, number in counts.items()
        if number
    ]
    if report.added or report.updated:  # their passages are counted together
        lines[0] = say(
            "{line} ({passages})", line=lines[0], passages=counted(report.chunks, "passage")
        )
    if report.copies:
        files = counted(report.copies, "file")
        lines.append(say("Same content as another document: {files}", files=files))
    if report.lost:
        files = counted(report.lost, "file")
        lines.append(
            say("Deleted meanwhile, or taken over by another command: {files}", files=files)
        )
    return lines


def skipped_lines(reasons: Mapping[str, int], files: Sequence[Skipped]) -> Iterator[str]:
    """Yield how many files were skipped, and below it the first names for each reason.

    >>> files = [Skipped("/a/x.exe", "unread"), Skipped("/a/y.exe", "unread")]
    >>> list(skipped_lines({"unread": 2}, files))
    ['Skipped: 2 files', '  unread: x.exe, y.exe']
    """
    total = sum(reasons.values())
    if not total:
        return
    yield say("Skipped: {files}", files=counted(total, "file"))
    ordered = sorted(files, key=lambda file: (-reasons[file.reason], file.reason, file.uri))
    folder = common_folder([file.uri for file in files])
    shown = 0
    for place, (reason, group) in enumerate(groupby(ordered, key=lambda file: file.reason)):
        if place == _MAX_REASONS:
            break
        names = [file.uri[len(folder) :] for file in group][:_MAX_NAMES]
        more = reasons[reason] - len(names)
        if more:
            names.append(say("and {number} more", number=more))
        shown += reasons[reason]
        yield say("  {reason}: {names}", reason=sentence(reason), names=", ".join(names))
    if any(count > _MAX_NAMES for count in reasons.values()) or shown < total:
        yield "  " + say("--json lists more of them")


def failure_lines(failures: Sequence[Failure]) -> Iterator[str]:
    """Yield how many files failed, and below it the first of them with their reasons."""
    if not failures:
        return
    yield say("Failed: {files}", files=counted(len(failures), "file"))
    for failure in failures[:_MAX_FAILURES]:
        yield say("  {reason}: {names}", reason=failure.uri, names=sentence(failure.reason))
    if len(failures) > _MAX_FAILURES:
        more = len(failures) - _MAX_FAILURES
        yield "  " + say("and {number} more: --json lists them", number=more)


def common_folder(uris: Sequence[str]) -> str:
    """Return the folder that all files lie in, with the slash at its end; "" where there is none.

    >>> common_folder(["/docs/a.md", "/docs/b/c.md"]), common_folder(["/docs/.git"])
    ('/docs/', '/docs/')
    """
    first, last = min(uris, default=""), max(uris, default="")
    pairs = enumerate(zip(first, last, strict=False))
    end = next((at for at, (a, b) in pairs if a != b), len(last))
    return first[: first.rfind("/", 0, end) + 1]
