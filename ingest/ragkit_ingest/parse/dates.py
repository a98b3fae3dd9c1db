"""Read a date that a file gives about itself, in the forms that programs write."""

from __future__ import annotations

import datetime as dt
import re
from email.utils import parsedate_to_datetime

_ISO = re.compile(
    r"(\d{4}-\d\d-\d\d)(?:[T ]\d\d:\d\d(?::\d\d)?(?:\.\d{1,9})?\s?(?:Z|[+-]\d\d:?\d\d)?)?"
)


def iso_date(text: str) -> str:
    """Return a date or a moment as ISO 8601, or "" for what is neither.

    >>> iso_date("2026-01-31T08:30:00Z"), iso_date("Sat, 31 Jan 2026 08:30:00 +0100")
    ('2026-01-31T08:30:00+00:00', '2026-01-31T08:30:00+01:00')
    >>> iso_date("2026-02-30"), iso_date("last week")
    ('', '')
    """
    text = text.strip()[:100]
    match = _ISO.match(text)
    try:
        if match is None:
            return parsedate_to_datetime(text).isoformat()
        if len(match.group()) == 10:
            return dt.date.fromisoformat(match.group()).isoformat()
        moment = dt.datetime.fromisoformat(match.group().replace(" ", "T", 1).replace(" ", ""))
        return moment.replace(microsecond=0).isoformat()
    except (ValueError, TypeError, IndexError, OverflowError):
        return ""
