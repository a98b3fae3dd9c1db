"""Mask what is said of a file beside its text: its title, a user's metadata, why it failed.

A file's address is left as it is, because the file is found again by it; what is private in it is
counted.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

from ragkit.settings.mask_kinds import mask_kinds

if TYPE_CHECKING:
    from ragkit.settings.ingest_options import IngestOptions
    from ragkit_ingest.parse.options import ParseOptions
    from ragkit_ingest.sources.item import Value
    from ragkit_ingest.sources.options import SourceOptions

IN_ADDRESS: Final = "private data in the address"  # what the notes call it: it is not masked


@dataclass(frozen=True, slots=True)
class Description:
    """A title and metadata; `notes` count what was private, in them and in the file's address."""

    title: str
    metadata: Mapping[str, Value] = field(default_factory=dict)
    notes: Mapping[str, int] = field(default_factory=dict)


def mask_description(statement: Description, uri: str, options: IngestOptions) -> Description:
    """Mask a title and metadata as a collection's options say; the same where they say nothing.

    First they are brought to the text's own form, so that an invisible character hides nothing.
    """
    kinds = mask_kinds(options.mask)
    if not kinds:
        return statement
    from ragkit_ingest.clean.mask import find_private, masked_line, masked_metadata
    from ragkit_ingest.clean.unicode import uniform

    form = options.unicode
    uniform_values = {
        uniform(key, form): uniform(value, form) if isinstance(value, str) else value
        for key, value in statement.metadata.items()
    }
    title, in_title = masked_line(uniform(statement.title, form), kinds)
    metadata, in_metadata = masked_metadata(uniform_values, kinds)
    notes = Counter(statement.notes) + Counter(in_title) + Counter(in_metadata)
    address = uniform(uri, form)
    stem = address.rpartition(".")[0]  # example.com.txt would be no domain
    notes[IN_ADDRESS] = max(len(find_private(part, kinds)) for part in (address, stem))
    return Description(title, metadata, dict(+notes))


def masked_sources(sources: SourceOptions, options: IngestOptions) -> SourceOptions:
    """Mask what a user says of all that a place holds, where that is kept for somebody else."""
    statement = mask_description(Description(sources.title, sources.metadata), "", options)
    return replace(sources, title=statement.title, metadata=statement.metadata)


def masked_reason(reason: str, options: IngestOptions | ParseOptions) -> str:
    """Mask why a file failed: a parser's message may quote what it could not read."""
    kinds = mask_kinds(options.mask)
    if not kinds:
        return reason
    from ragkit_ingest.clean.mask import masked_line

    return masked_line(reason, kinds)[0]
