"""Estimate the remaining time of an ingestion from its pace so far."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from ragkit_ingest.run.report import Progress

# Both arbitrary: with less, one slow file decides.
_MIN_FILES: Final = 3
_MIN_S: Final = 3.0


class Estimate:
    """Estimates the seconds that remain; `None` until the pace is known.

    The time before the first embedded passages does not count: the model is loaded in it. The
    estimate changes only when a file is done, and falls in between.
    """

    def __init__(self) -> None:
        self._first: Progress | None = None
        self._latest: Progress | None = None
        self._end_s: float | None = None

    def remaining_s(self, progress: Progress) -> float | None:
        """Take in the latest progress; return the seconds that remain."""
        if self._first is None:
            if progress.chunks:
                self._first = self._latest = progress
            return None
        assert self._latest is not None, "it is set with the first"
        if (progress.files, progress.total) != (self._latest.files, self._latest.total):
            self._latest = progress
            self._end_s = self._estimated_end(self._first, progress)
        if self._end_s is None or self._end_s <= progress.seconds:
            return None
        return self._end_s - progress.seconds

    @staticmethod
    def _estimated_end(first: Progress, latest: Progress) -> float | None:
        files, seconds = latest.files - first.files, latest.seconds - first.seconds
        if files < _MIN_FILES or seconds < _MIN_S:
            return None
        return latest.seconds + seconds / files * (latest.total - latest.files)
