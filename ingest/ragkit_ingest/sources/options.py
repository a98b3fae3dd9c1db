"""Options of sources: what is read, and the metadata given to it. Values only."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from ragkit_ingest.sources.item import Value


@dataclass(frozen=True, slots=True)
class RecordFields:
    """Which fields of a record are what; a field of a field is written with a dot, `author.name`.

    The texts of several fields are put together as paragraphs. Without an `id` a record goes by its
    line. `suffix` is the format of the text.
    """

    text: tuple[str, ...]
    title: str = ""
    id: str = ""
    metadata: tuple[str, ...] = ()
    suffix: str = ".txt"


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceOptions:
    """What is taken of the places, and what is said of everything in them.

    `include` and `exclude` are patterns as .gitignore has them; with `include`, only what matches
    one of these is taken. `name` is that of standard input. `title` is for a single document.
    """

    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    hidden: bool = False
    name: str = ""
    title: str = ""
    metadata: Mapping[str, Value] = field(default_factory=dict)
    records: RecordFields | None = None
