"""Parse contacts (.vcf): a record per person or organisation, with the names of its values.

Pictures, sounds and keys are left out and counted.
"""

from __future__ import annotations

import re
from collections import Counter

from ragkit.errors import IngestError
from ragkit.text.analyse import CJK
from ragkit.types import ParsedText
from ragkit_ingest.parse.builder import Builder
from ragkit_ingest.parse.contentlines import ContentLine, content_lines
from ragkit_ingest.parse.labels import labelled
from ragkit_ingest.parse.options import ParseOptions

NO_TEXT = "contacts without a name"
_LABELS = {
    "NICKNAME": "nickname",
    "ORG": "organization",
    "TITLE": "title",
    "ROLE": "role",
    "TEL": "phone",
    "EMAIL": "e-mail",
    "ADR": "address",
    "LABEL": "address",
    "URL": "url",
    "IMPP": "chat",
    "BDAY": "birthday",
    "ANNIVERSARY": "anniversary",
    "CATEGORIES": "categories",
    "NOTE": "note",
    "RELATED": "related",
    "LANG": "language",
}
_BINARY = frozenset({"PHOTO", "LOGO", "SOUND", "KEY"})
_CJK_NAME = re.compile(f"[{CJK}]{{1,50}}")
_SILENT = frozenset({"PREF", "INTERNET", "VOICE", "QUOTED-PRINTABLE"})  # say nothing of a value


def parse(data: bytes, options: ParseOptions) -> ParsedText:
    """Parse contacts. Raises IngestError for what are none."""
    builder = Builder()
    notes: Counter[str] = Counter()
    record: list[ContentLine] | None = None
    is_card = False
    for line in content_lines(data):
        if line.name == "BEGIN" and line.value.strip().upper() == "VCARD":
            record, is_card = [], True
        elif line.name == "END" and record is not None:
            _write(record, builder)
            record = None
        elif line.name in _BINARY:
            notes["pictures"] += 1
        elif record is not None:
            record.append(line)
    if not is_card:
        raise IngestError("parse", "not a file of contacts: it has no BEGIN:VCARD")
    return labelled(builder.result(), {}, notes)


def _write(record: list[ContentLine], builder: Builder) -> None:
    builder.heading(2, _name(record))
    builder.paragraph("\n".join(_lines(record)))


def _name(record: list[ContentLine]) -> str:
    """Give the name as it is written, or made of its parts: prefix, given names, family, suffix."""
    values = {line.name: line for line in reversed(record)}
    if "FN" in values and values["FN"].text.strip():
        return values["FN"].text
    parts = [*values["N"].parts(), *[""] * 5] if "N" in values else [""] * 5
    if parts[0] and _CJK_NAME.fullmatch(parts[0] + parts[1]):
        return parts[0] + parts[1]  # the family comes first, and no space sets it apart
    name = " ".join(parts[place] for place in (3, 1, 2, 0, 4) if parts[place])
    return name or (" ".join(values["ORG"].parts()) if "ORG" in values else "")


def _lines(record: list[ContentLine]) -> list[str]:
    lines = []
    for line in record:
        label = _LABELS.get(line.name)
        kinds = [kind for kind in line.parameters.get("TYPE", "").split(",") if kind]
        labels = [kind.lower() for kind in kinds if kind.upper() not in _SILENT]
        text = ", ".join(filter(None, (" ".join(part.split()) for part in line.parts())))
        if label and text:
            kind = f" ({', '.join(labels)})" if labels else ""
            lines.append(f"{label}{kind}: {text}")
    return lines
