"""The report of an ingestion run, file by file."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final

from ragkit.errors import NOTHING_INGESTED, NotFoundError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ragkit.store.jobs.ledger import Ledger, LedgerJob, Run

STAGES: Final = ("read", "parse", "split", "embed", "write")  # of one file
MASKED: Final = "masked "  # how the notes begin that count what was masked, by kind
_PAGE: Final = 1000  # jobs asked for together; arbitrary
_POINTS: Final = 60  # of the plot; arbitrary: as many as can be told apart


@dataclass(frozen=True, slots=True)
class FileFigures:
    """Figures of one file: bytes, chunks, seconds by stage, notes by kind."""

    job: int
    uri: str
    state: str
    bytes: int
    chunks: int
    seconds: Mapping[str, float]
    notes: Mapping[str, int]
    stage: str
    reason: str
    host: str

    @property
    def masked(self) -> int:
        """Count the masked places of all kinds."""
        return sum(count for kind, count in self.notes.items() if kind.startswith(MASKED))

    @property
    def other_notes(self) -> dict[str, int]:
        """Return the notes that do not count masked places."""
        return {kind: count for kind, count in self.notes.items() if not kind.startswith(MASKED)}


@dataclass(frozen=True, slots=True)
class JobReport:
    """A run's files, their sums, and the throughput over its time."""

    run: int
    collection: str
    host: str
    started_at: datetime
    ended_at: datetime | None
    figures: Mapping[str, Any]
    files: tuple[FileFigures, ...]
    throughput: tuple[tuple[float, float], ...] = field(default=())  # (seconds, chunks/s)

    @property
    def notes(self) -> dict[str, int]:
        """Add up the notes of all files, by kind."""
        total: Counter[str] = Counter()
        for file in self.files:
            total.update(file.notes)
        return dict(sorted(total.items()))

    def as_json(self) -> dict[str, Any]:
        """Return the shape that `ragkit jobs report --json` prints."""
        return {
            "run": self.run,
            "collection": self.collection,
            "host": self.host,
            "started_at": self.started_at.isoformat(),
            "ended_at": None if self.ended_at is None else self.ended_at.isoformat(),
            "figures": dict(self.figures),
            "notes": self.notes,
            "throughput": [{"seconds": at, "chunks_per_s": rate} for at, rate in self.throughput],
            "files": [
                {
                    "job": file.job,
                    "uri": file.uri,
                    "state": file.state,
                    "bytes": file.bytes,
                    "chunks": file.chunks,
                    "seconds": dict(file.seconds),
                    "notes": dict(file.notes),
                    "stage": file.stage,
                    "reason": file.reason,
                    "host": file.host,
                }
                for file in self.files
            ],
        }


def report(run: Run, jobs: Iterable[LedgerJob]) -> JobReport:
    """Make the report of a run from its jobs."""
    listed = list(jobs)
    files = tuple(sorted((_file(job) for job in listed), key=lambda file: file.uri))
    return JobReport(
        run=run.id,
        collection=run.collection,
        host=run.host,
        started_at=run.started_at,
        ended_at=run.ended_at,
        figures=run.figures,
        files=files,
        throughput=tuple(_throughput(run.started_at, listed)),
    )


def _file(job: LedgerJob) -> FileFigures:
    figures = job.figures
    return FileFigures(
        job=job.id,
        uri=job.uri,
        state=job.state,
        bytes=int(figures.get("bytes", 0)),
        chunks=int(figures.get("chunks", 0)),
        seconds=dict(figures.get("seconds", {})),
        notes=dict(figures.get("notes", {})),
        stage=job.stage,
        reason=job.reason,
        host=job.host,
    )


def _throughput(start: datetime, jobs: Sequence[LedgerJob]) -> list[tuple[float, float]]:
    """Return chunks/s in equal stretches of the time until the last file was done.

    A file's chunks count when it is done.
    """
    done = [
        ((job.finished_at - start).total_seconds(), int(job.figures.get("chunks", 0)))
        for job in jobs
        if job.state == "done" and job.finished_at is not None
    ]
    duration = max((at for at, _ in done), default=0.0)
    if duration <= 0:
        return []
    step = duration / _POINTS
    counts = [0] * _POINTS
    for at, chunks in done:
        counts[min(_POINTS - 1, max(0, int(at / step)))] += chunks
    return [(round((n + 1) * step, 3), round(count / step, 2)) for n, count in enumerate(counts)]


def of_run(ledger: Ledger, run: int | None, collection: str | None = None) -> JobReport:
    """Read the report of a run, or of the latest one. Raises NotFoundError without such a run."""
    if run is None:
        latest = ledger.runs(collection=collection, limit=1)
        if not latest:
            raise NotFoundError(NOTHING_INGESTED)
        run_row = latest[0]
    else:
        run_row = ledger.run(run)
    jobs: list[LedgerJob] = []
    while page := ledger.jobs(run=run_row.id, before=jobs[-1].id if jobs else None, limit=_PAGE):
        jobs += page
    return report(run_row, jobs)
