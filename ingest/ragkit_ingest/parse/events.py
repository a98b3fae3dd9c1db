"""Parse calendars (.ics): a record per event, task or note with what, when, where and who.

Time zones, alarms and how an event repeats in detail are left out.
"""

from __future__ import annotations

import re

from ragkit.errors import IngestError
from ragkit.types import ParsedText
from ragkit_ingest.parse.builder import Builder
from ragkit_ingest.parse.contentlines import ContentLine, content_lines
from ragkit_ingest.parse.options import ParseOptions

NO_TEXT = "a calendar without events"
_RECORDS = frozenset({"VEVENT", "VTODO", "VJOURNAL"})
# What is written of a record, in this order, and what it is called.
_FIELDS = {
    "DTSTART": "start",
    "DTEND": "end",
    "DUE": "due",
    "DURATION": "duration",
    "RRULE": "repeats",
    "LOCATION": "location",
    "ORGANIZER": "organizer",
    "ATTENDEE": "attendees",
    "CATEGORIES": "categories",
    "STATUS": "status",
    "URL": "url",
}
_MOMENT = re.compile(r"(\d{4})(\d\d)(\d\d)(?:T(\d\d)(\d\d)(\d\d)?(Z)?)?$")
_MAX_VALUES = 200  # arbitrary; people who were invited


def parse(data: bytes, options: ParseOptions) -> ParsedText:
    """Parse a calendar. Raises IngestError for what is none."""
    builder = Builder()
    open_parts: list[str] = []
    record: dict[str, list[str]] = {}
    title = ""
    is_calendar = False
    for line in content_lines(data):
        part = line.value.strip().upper()
        if line.name == "BEGIN":
            is_calendar = is_calendar or part == "VCALENDAR"
            open_parts.append(part)
            record = {} if part in _RECORDS else record
        elif line.name == "END" and open_parts:
            if open_parts.pop() in _RECORDS:
                _write(record, builder)
        elif open_parts[-1:] == ["VCALENDAR"] and line.name == "X-WR-CALNAME":
            title = line.text
        elif open_parts and open_parts[-1] in _RECORDS:
            values = record.setdefault(line.name, [])
            if len(values) < _MAX_VALUES:
                values.append(_value(line))
    if not is_calendar:
        raise IngestError("parse", "not a calendar, as its name says: it has no BEGIN:VCALENDAR")
    return builder.result(title=title)


def _value(line: ContentLine) -> str:
    """Write a value as people read it: dates, people by their names."""
    if moment := _MOMENT.match(line.value.strip()):
        year, month, day, hour, minute, _, is_utc = moment.groups()
        zone = line.parameters.get("TZID", "UTC" if is_utc else "")
        clock = f" {hour}:{minute}" if hour else ""
        return f"{year}-{month}-{day}{clock}{f' {zone}' if zone and clock else ''}"
    if line.name in {"ORGANIZER", "ATTENDEE"}:
        address = re.sub(r"^mailto:", "", line.value.strip(), flags=re.IGNORECASE)
        person = line.parameters.get("CN", "")
        return f"{person} <{address}>" if person and person != address else address
    return line.text


def _write(record: dict[str, list[str]], builder: Builder) -> None:
    """Write a record: its summary as heading, its fields as lines, its description."""
    builder.heading(2, " ".join(record.get("SUMMARY", [])))
    lines = [
        f"{label}: {' '.join(', '.join(record[name]).split())}"
        for name, label in _FIELDS.items()
        if any(record.get(name, []))
    ]
    builder.paragraph("\n".join(lines))
    builder.paragraph("\n".join(record.get("DESCRIPTION", [])))
