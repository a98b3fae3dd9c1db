"""What an ingestion did or is doing, as values: counts, failures, progress, the JSON shape."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Final

from ragkit_ingest.run.skipped import Skipped

SKIPPED_KEYS: Final = ("skipped", "skipped_by_reason", "skipped_files")  # in the JSON


@dataclass(frozen=True, slots=True)
class Failure:
    """A file that could not be taken in: at which stage (read, parse, chunk, embed, store), why."""

    uri: str
    stage: str
    reason: str


@dataclass(frozen=True, slots=True)
class IngestReport:
    """What one run did; `chunks` were written and `embedded` texts embedded by this run.

    `copies` have the content of a document that is stored already, and are listed with it. `lost`
    were taken over by another process, or deleted, before they were stored. `notes` add up what
    parsers left out or masked, by kind. `busy` are the seconds that each stage worked.
    `skipped` counts files that were not taken, `skipped_by_reason` for each reason, and
    `skipped_files` names the first thousand. `notices` say what makes documents harder to
    find, each with its remedy.
    """

    added: int = 0
    updated: int = 0
    unchanged: int = 0
    deleted: int = 0
    skipped: int = 0
    copies: int = 0
    lost: int = 0
    chunks: int = 0
    embedded: int = 0
    seconds: float = 0.0
    failures: tuple[Failure, ...] = field(default=())
    notes: Mapping[str, int] = field(default_factory=dict)
    busy: Mapping[str, float] = field(default_factory=dict)
    skipped_by_reason: Mapping[str, int] = field(default_factory=dict)
    skipped_files: tuple[Skipped, ...] = ()
    notices: tuple[str, ...] = ()

    @property
    def failed(self) -> int:
        return len(self.failures)

    @property
    def has_changed(self) -> bool:
        """Say whether anything is stored, copied or deleted that was not before."""
        return bool(self.added or self.updated or self.copies or self.deleted)

    def as_json(self) -> dict[str, object]:
        """Return the shape that `ragkit ingest --json` prints."""
        return {
            "documents": {
                "added": self.added,
                "updated": self.updated,
                "unchanged": self.unchanged,
                "deleted": self.deleted,
                "copies": self.copies,
                "lost": self.lost,
                "failed": self.failed,
            },
            "failures": [
                {"uri": failure.uri, "stage": failure.stage, "reason": failure.reason}
                for failure in self.failures
            ],
            "chunks": self.chunks,
            "embedded": self.embedded,
            "skipped": self.skipped,
            "skipped_by_reason": dict(self.skipped_by_reason),
            "skipped_files": [asdict(file) for file in self.skipped_files],
            "notices": list(self.notices),
            "seconds": round(self.seconds, 3),
            "notes": dict(self.notes),
            "busy": {stage: round(seconds, 3) for stage, seconds in self.busy.items()},
        }


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a run is: files dealt with of all, chunks embedded, seconds since the start."""

    files: int
    total: int
    chunks: int
    seconds: float
