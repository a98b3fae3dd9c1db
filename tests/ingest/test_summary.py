"""The line that ends an ingestion: nothing to do is no failure, and one is not several."""

import pytest

from ragkit_ingest.report import Failure, IngestReport
from ragkit_ingest.summary import summary

FAILURE = Failure("/x/制度.pdf", "parse", "the file is empty (0 bytes)")


@pytest.mark.parametrize(
    ("report", "line"),
    [
        (
            IngestReport(unchanged=240, seconds=1.52),
            "240 documents, all unchanged; nothing had to be done, in 1.5 s",
        ),
        (
            IngestReport(unchanged=2, skipped=1, seconds=0.2),
            "2 documents, both unchanged; 1 file skipped; nothing had to be done, in 0.2 s",
        ),
        (
            IngestReport(unchanged=1, skipped=3, seconds=0.2),
            "1 document, unchanged; 3 files skipped; nothing had to be done, in 0.2 s",
        ),
        (
            IngestReport(unchanged=1, failures=(FAILURE,), seconds=0.4),
            "0 added, 0 updated, 1 unchanged, 1 failed, 0 skipped: 0 chunks in 0.4 s",
        ),
        (
            IngestReport(added=1, updated=2, unchanged=3, chunks=1, embedded=1, seconds=1.0),
            "1 added, 2 updated, 3 unchanged, 0 failed, 0 skipped: 1 chunk in 1.0 s, 1 chunks/s",
        ),
        (
            IngestReport(unchanged=5, deleted=1, lost=1, seconds=0.1),
            "0 added, 0 updated, 5 unchanged, 1 deleted, 1 deleted or taken over meanwhile,"
            " 0 failed, 0 skipped: 0 chunks in 0.1 s",
        ),
        (
            IngestReport(seconds=0.1, skipped=2),
            "0 added, 0 updated, 0 unchanged, 0 failed, 2 skipped: 0 chunks in 0.1 s",
        ),
    ],
)
def test_the_line_says_what_happened(report: IngestReport, line: str) -> None:
    assert summary(report) == line
