"""What an ingestion has done so far, counted by its stages and read by whoever shows it.

It knows nothing of the stages themselves.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from time import perf_counter
from typing import TYPE_CHECKING, Any

from ragkit_ingest.run.report import Failure, IngestReport
from ragkit_ingest.run.skipped import SkippedFiles

if TYPE_CHECKING:
    from ragkit.store.jobs.worker import Job
    from ragkit.types import Document
    from ragkit_ingest.run.steps import Source


@dataclass(slots=True)
class Figures:
    """Figures of one item: bytes, chunks, seconds by stage, notes of its parser.

    The seconds of a stage that goes on are less than nothing: the moment at which it began.
    """

    bytes: int = 0
    chunks: int = 0
    seconds: dict[str, float] = field(default_factory=dict)
    notes: dict[str, int] = field(default_factory=dict)

    def began(self, stage: str) -> None:
        """Note when a stage began."""
        self.seconds[stage] = -perf_counter()

    def ended(self, stage: str) -> None:
        """Turn the moment that a stage began at into the seconds that it took."""
        self.seconds[stage] = self.seconds.get(stage, -perf_counter()) + perf_counter()

    def as_json(self, share: float = 1.0) -> dict[str, Any]:
        """Return what the ledger keeps; seconds to the tenth of a millisecond, up to now.

        `share` is this thing's part in a stage that goes on.
        """
        now = perf_counter()
        seconds = {
            stage: round(spent if spent >= 0 else share * (now + spent), 4)
            for stage, spent in self.seconds.items()
        }
        notes = {"notes": self.notes} if self.notes else {}
        return {"bytes": self.bytes, "chunks": self.chunks, "seconds": seconds, **notes}


class Live(Mapping[str, Any]):
    """Figures as the ledger keeps them, put together only when they are read.

    The store reads them at the end of the transaction that writes the file, so that the time of
    writing is among them: this file's `share` in it, where several are written together.
    """

    def __init__(self, figures: Figures, *, share: float = 1.0) -> None:
        self._figures = figures
        self._share = share

    def __getitem__(self, name: str) -> Any:
        return self._json()[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._json())

    def __len__(self) -> int:
        return len(self._json())

    def _json(self) -> dict[str, Any]:
        return self._figures.as_json(self._share)


@dataclass(slots=True)
class Task:
    """An item on its way through the stages: what was read of it, its job, its figures."""

    source: Source
    job: Job
    figures: Figures = field(default_factory=Figures)
    began: float = field(default_factory=perf_counter)

    @property
    def uri(self) -> str:
        return self.source.item.uri


class Tally:
    """Counts, by several threads at once."""

    def __init__(self) -> None:
        self.seen = self.added = self.updated = self.unchanged = self.copies = self.lost = 0
        self.deleted = self.chunks = self.embedded = 0
        self.found: set[str] = set()  # URIs
        self.failures: list[Failure] = []
        self.notes: Counter[str] = Counter()
        self.languages: Counter[str] = Counter()  # of the documents that were written
        self.skipped = SkippedFiles()
        self.busy: dict[str, float] = {}  # seconds that each stage worked
        self._stored_before = 0
        self._lock = threading.Lock()

    def begin_again(self) -> None:
        """Count from the start what will be seen once more; what is stored stays counted."""
        self._stored_before = self.added + self.updated + self.copies
        self.found = set()
        self.seen = self.unchanged = self.lost = 0
        self.failures = []
        self.skipped = SkippedFiles()

    @property
    def has_changed(self) -> bool:
        """Say whether anything was written that indexes are made of."""
        return bool(self.added or self.updated or self.deleted)

    def report(
        self,
        *,
        skipped: SkippedFiles,
        seconds: float,
        notices: Iterable[str] = (),
    ) -> IngestReport:
        """Return what was done, as a value; `skipped` are files that no stage has seen."""
        skipped += self.skipped
        return IngestReport(
            added=self.added,
            updated=self.updated,
            unchanged=max(0, self.unchanged - self._stored_before),
            copies=self.copies,
            lost=self.lost,
            deleted=self.deleted,
            skipped=skipped.reasons.total(),
            skipped_files=tuple(skipped.named),
            skipped_by_reason=dict(skipped.reasons),
            notices=tuple(notices),
            chunks=self.chunks,
            embedded=self.embedded,
            seconds=seconds,
            failures=tuple(sorted(self.failures, key=lambda failure: failure.uri)),
            notes=dict(self.notes),
            busy=dict(self.busy),
        )

    @property
    def done(self) -> int:
        """Count what is settled, whatever came of it."""
        settled = self.added + self.updated + self.unchanged + self.copies + self.lost
        return settled + len(self.failures) + self.skipped.reasons.total()

    def count(self, **by: int) -> None:
        """Add to counts by their names."""
        with self._lock:
            for name, more in by.items():
                setattr(self, name, getattr(self, name) + more)

    def saw(self, uris: Iterable[str]) -> None:
        """Note things that are there."""
        with self._lock:
            self.found.update(uris)
            self.seen = len(self.found)

    def skip(self, uri: str, reason: str) -> None:
        """Note a file that is there and is not taken."""
        with self._lock:
            self.skipped.add(uri, reason)

    def stored(self, document: Document, notes: dict[str, int]) -> None:
        """Count a document that was written."""
        kind = "added" if document.version == 1 else "updated"
        self.count(**{kind: 1, "chunks": document.chunks})
        with self._lock:
            self.notes.update(notes)
            self.languages[document.language] += 1

    def failed(self, uri: str, stage: str, reason: str) -> None:
        """Note a thing that could not be taken in."""
        with self._lock:
            self.failures.append(Failure(uri, stage, reason))

    def spent(self, stage: str, since: float) -> None:
        """Add the time since a moment to a stage's."""
        with self._lock:
            self.busy[stage] = self.busy.get(stage, 0.0) + perf_counter() - since
