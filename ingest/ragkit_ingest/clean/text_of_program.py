"""Mask a text that a program hands over without a file, and its metadata."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ragkit.settings.mask_kinds import mask_kinds
from ragkit_ingest.clean.mask import masked_line, masked_metadata
from ragkit_ingest.clean.unicode import uniform

if TYPE_CHECKING:
    from ragkit.settings.ingest_options import IngestOptions


def masked_text(
    text: str, metadata: Mapping[str, Any], options: IngestOptions
) -> tuple[str, dict[str, Any]]:
    """Return a text and metadata of JSON values without what a collection's options mask.

    First they are brought to the form of stored texts, so that an invisible character hides
    nothing. Where nothing is masked, they come back as they are.
    """
    kinds = mask_kinds(options.mask)
    if not kinds:
        return text, dict(metadata)

    def masked(value: object, key: str) -> object:
        if isinstance(value, Mapping):
            names = {uniform(str(name), options.unicode): item for name, item in value.items()}
            return {masked_line(name, kinds)[0]: masked(item, name) for name, item in names.items()}
        if isinstance(value, list | tuple):
            return [masked(item, key) for item in value]
        if isinstance(value, str):
            value = uniform(value, options.unicode)
        if not isinstance(value, str | int | float):
            return value
        (result,) = masked_metadata({key: value}, kinds)[0].values()
        return result

    masked_values = masked(metadata, "")
    assert isinstance(masked_values, dict)
    return masked_line(uniform(text, options.unicode), kinds)[0], masked_values
