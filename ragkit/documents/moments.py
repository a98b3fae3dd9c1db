"""A moment as people write it: a day, or a time with a zone; and stores that can go back to it."""

from __future__ import annotations

from datetime import UTC, date, datetime, time
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from ragkit.errors import UsageError

if TYPE_CHECKING:
    from ragkit.contracts import Store


def moment(text: str | None) -> datetime | None:
    """Read a moment; a day stands for its end, and a time without a zone is in UTC.

    Raises UsageError.

    >>> moment("2026-01-31T15:00").isoformat()
    '2026-01-31T15:00:00+00:00'
    >>> moment("2026-01-31").isoformat()
    '2026-01-31T23:59:59.999999+00:00'
    """
    if text is None:
        return None
    try:
        if len(text.strip()) <= len("2026-01-31"):
            return datetime.combine(date.fromisoformat(text.strip()), time.max, UTC)
        read = datetime.fromisoformat(text.strip())
    except ValueError as error:
        raise UsageError(
            f"{text[:40]!r} is no time: write it as 2026-01-31 or 2026-01-31T15:00+01:00"
        ) from error
    return read if read.tzinfo is not None else read.replace(tzinfo=UTC)


@runtime_checkable
class Versioned(Protocol):
    """A store that keeps old versions of documents."""

    def as_of(self, moment: datetime) -> Store:
        """Return the store whose snapshots find what was current at a moment."""
        ...
