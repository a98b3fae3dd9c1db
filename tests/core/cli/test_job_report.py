"""The report of a run: what its jobs add up to, chunks per second, a page that trusts nothing."""

from datetime import UTC, datetime, timedelta
from typing import Any

from ragkit.cli.job_page import page
from ragkit.cli.job_report import report
from ragkit.store.jobs.ledger import LedgerJob, Run

START = datetime(2026, 11, 22, 8, 0, tzinfo=UTC)
RUN = Run(7, "notes", "ingest", "shelf", START, START + timedelta(seconds=60), {"seconds": 60.0})


def job(number: int, uri: str, at_s: float | None, **figures: Any) -> LedgerJob:
    """A job that was done at a second of the run; None: it failed."""
    done = at_s is not None
    finished = START + timedelta(seconds=at_s or 0)
    return LedgerJob(
        number,
        "notes",
        "ingest",
        uri,
        "done" if done else "failed",
        1,
        "" if done else "parse",
        "" if done else "damaged <PDF>",
        "hash",
        "shelf",
        7,
        number if done else None,
        START,
        START,
        finished,
        finished,
        figures,
    )


JOBS = [
    job(2, "/b.pdf", None),
    job(
        1,
        "/a <b>.md",
        30,
        bytes=2000,
        chunks=12,
        seconds={"parse": 0.25, "split": 0.5, "embed": 1.5},
        notes={"masked email": 2},
    ),
    job(3, "/c.md", 60, bytes=500, chunks=6, seconds={"parse": 0.25}, notes={"masked email": 1}),
]


def test_files_come_by_name_with_what_they_took() -> None:
    made = report(RUN, JOBS)
    assert [file.uri for file in made.files] == ["/a <b>.md", "/b.pdf", "/c.md"]
    assert made.files[0].seconds == {"parse": 0.25, "split": 0.5, "embed": 1.5}
    assert (made.files[1].stage, made.files[1].reason) == ("parse", "damaged <PDF>")
    assert made.notes == {"masked email": 3}
    assert (made.files[0].masked, made.files[0].other_notes) == (2, {})


def test_chunks_count_when_their_file_is_done() -> None:
    rates = dict(report(RUN, JOBS).throughput)
    assert len(rates) == 60
    assert {at: rate for at, rate in rates.items() if rate} == {31.0: 12.0, 60.0: 6.0}


def test_a_run_without_changes_has_nothing_to_plot() -> None:
    made = report(RUN, [])
    assert (made.files, made.throughput, made.notes) == ((), (), {})
    assert "Nothing had changed." in page(made)
    assert "<svg" not in page(made)


def test_the_page_escapes_names_and_reasons_and_loads_nothing() -> None:
    shown = page(report(RUN, JOBS))
    assert "a &lt;b&gt;.md" in shown
    assert "damaged &lt;PDF&gt;" in shown
    assert "a <b>.md" not in shown
    assert shown.count("<rect") == 2
    assert "http" not in shown.replace("http-equiv", "")
    assert "<script" not in shown
    assert "took 60.0 s" in " ".join(shown.split())


def test_json_has_every_file() -> None:
    told = report(RUN, JOBS).as_json()
    assert (told["run"], told["collection"], told["ended_at"]) == (
        7,
        "notes",
        "2026-11-22T08:01:00+00:00",
    )
    assert [file["chunks"] for file in told["files"]] == [12, 0, 6]
