"""What the command line says of the places that are taken in, as values.

It knows nothing of what is done with them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ragkit.errors import UsageError

if TYPE_CHECKING:
    from ragkit_ingest.sources import SourceOptions


@dataclass(frozen=True, slots=True)
class Records:
    """Which fields of a record were named."""

    text: Sequence[str]
    title: str
    id: str
    metadata: Sequence[str]


def source_options(
    records: Records,
    include: Sequence[str] | None,
    exclude: Sequence[str] | None,
    meta: Sequence[str] | None,
    *,
    hidden: bool,
    title: str,
    name: str,
) -> SourceOptions:
    """Put the options of a command together. Raises UsageError for what makes no sense."""
    from ragkit_ingest.sources import RecordFields, SourceOptions, pairs

    if not records.text and (records.title or records.id or records.metadata):
        raise UsageError("--title-field, --id-field and --metadata-field need --text FIELD.")
    fields = RecordFields(tuple(records.text), records.title, records.id, tuple(records.metadata))
    return SourceOptions(
        include=tuple(include or ()),
        exclude=tuple(exclude or ()),
        hidden=hidden,
        name=name,
        title=title,
        metadata=pairs(meta or ()),
        records=fields if records.text else None,
    )
