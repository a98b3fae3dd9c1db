"""The lines that end an ingestion: only what there is to say, each line with its heading."""

import pytest

from ragkit_ingest.cli.summary import summary
from ragkit_ingest.run.report import Failure, IngestReport
from ragkit_ingest.run.skipped import SkippedFiles, unread_format

FAILURE = Failure("/x/制度.pdf", "parse", "the file is empty (0 bytes)")


@pytest.mark.parametrize(
    ("report", "lines"),
    [
        (IngestReport(unchanged=240, seconds=1.52), ["Unchanged: 240 documents", "Time: 1.5 s"]),
        (
            IngestReport(unchanged=1, failures=(FAILURE,), seconds=0.4),
            [
                "Unchanged: 1 document",
                "Failed: 1 file",
                "  /x/制度.pdf: the file is empty (0 bytes)",
                "Time: 0.4 s",
            ],
        ),
        (
            IngestReport(added=1, updated=2, unchanged=3, chunks=1, embedded=1, seconds=1.0),
            [
                "Added: 1 document (1 passage)",
                "Updated: 2 documents",
                "Unchanged: 3 documents",
                "Time: 1.0 s",
            ],
        ),
        (
            IngestReport(unchanged=5, deleted=1, lost=1, copies=2, seconds=0.1),
            [
                "Unchanged: 5 documents",
                "Deleted: 1 document",
                "Same content as another document: 2 files",
                "Deleted meanwhile, or taken over by another command: 1 file",
                "Time: 0.1 s",
            ],
        ),
        (IngestReport(seconds=0.1), ["No files were found.", "Time: 0.1 s"]),
        (
            IngestReport(
                added=1,
                chunks=4,
                notes={"boilerplate text": 4, "masked email": 2, "pages read by OCR": 3},
                seconds=6.9,
            ),
            [
                "Added: 1 document (4 passages)",
                "Left out of the text: menus and footers of web pages (4)",
                "Masked: e-mail addresses (2)",
                "Read from pictures (OCR): pages (3)",
                "Time: 6.9 s",
            ],
        ),
    ],
)
def test_the_lines_say_what_happened(report: IngestReport, lines: list[str]) -> None:
    assert list(summary(report)) == lines


def test_skipped_files_stand_below_their_reason_the_commonest_first() -> None:
    skipped = SkippedFiles()
    for number in range(7):
        skipped.add(f"/docs/music/{number}.mp3", unread_format(".mp3"))
    skipped.add("/docs/.git", "hidden (--hidden takes them)")
    report = IngestReport(
        skipped=8,
        skipped_by_reason=dict(skipped.reasons),
        skipped_files=tuple(skipped.named),
        seconds=0.1,
    )
    assert list(summary(report))[1:-1] == [
        "Skipped: 8 files",
        "  a format that ragkit does not read (.mp3): music/0.mp3, music/1.mp3, music/2.mp3,"
        " music/3.mp3, music/4.mp3, and 2 more",
        "  hidden (--hidden takes them): .git",
        "  --json lists more of them",
    ]


def test_after_a_thousand_names_files_are_only_counted() -> None:
    skipped = SkippedFiles()
    for number in range(1001):
        skipped.add(f"/{number}.mp3", unread_format(".mp3"))
    assert len(skipped.named) == 1000
    assert skipped.reasons == {"a format that ragkit does not read (.mp3)": 1001}


def test_a_name_with_a_line_break_does_not_look_like_another_line(
    capsys: pytest.CaptureFixture[str],
) -> None:
    from ragkit_ingest.cli.ingest import _print_lines

    _print_lines(summary(IngestReport(failures=(Failure("/a\nAdded: 9 documents", "read", "x"),))))
    assert "\nAdded: 9" not in capsys.readouterr().out
