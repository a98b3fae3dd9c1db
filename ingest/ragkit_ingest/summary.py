"""What an ingestion did, in one line for people: what is new, what stayed, what failed.

It knows nothing of JSON, tables or terminals.
"""

from __future__ import annotations

from ragkit_ingest.report import IngestReport


def summary(report: IngestReport) -> str:
    """Say in one line what came of the files, and how long it took.

    >>> summary(IngestReport(unchanged=240, seconds=1.52))
    '240 documents, all unchanged; nothing had to be done, in 1.5 s'
    >>> summary(IngestReport(added=1, unchanged=2, chunks=1, embedded=1, seconds=0.5))
    '1 added, 0 updated, 2 unchanged, 0 failed, 0 skipped: 1 chunk in 0.5 s, 2 chunks/s'
    """
    if is_unchanged(report):
        skipped = f"; {counted(report.skipped, 'file')} skipped" if report.skipped else ""
        what = f"{counted(report.unchanged, 'document')}, {_all(report.unchanged)}unchanged"
        return f"{what}{skipped}; nothing had to be done, in {report.seconds:.1f} s"
    rate = ""
    if report.embedded and report.seconds:
        rate = f", {report.embedded / report.seconds:.0f} chunks/s"
    return (
        f"{report.added} added, {report.updated} updated, {report.unchanged} unchanged,"
        f"{rarer(report)} {report.failed} failed, {report.skipped} skipped:"
        f" {counted(report.chunks, 'chunk')} in {report.seconds:.1f} s{rate}"
    )


def is_unchanged(report: IngestReport) -> bool:
    """Say whether there were documents, and each was found as it is stored."""
    return bool(report.unchanged) and not (report.has_changed or report.failed or report.lost)


def rarer(report: IngestReport) -> str:
    """Say what is not said when there is none of it."""
    counts = {
        "copies of others": report.copies,
        "deleted": report.deleted,
        "deleted or taken over meanwhile": report.lost,
    }
    return "".join(f" {count} {what}," for what, count in counts.items() if count)


def counted(number: int, what: str) -> str:
    """Write a number of things, in the plural unless it is one.

    >>> counted(1, "chunk"), counted(0, "chunk")
    ('1 chunk', '0 chunks')
    """
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


def _all(number: int) -> str:
    return "all " if number > 2 else "both " if number == 2 else ""
