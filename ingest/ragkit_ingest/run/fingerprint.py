"""What a document's chunks and vectors depend on besides its content, as one hash.

Computed without loading a model, so that a run over unchanged files stays quick.
"""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING

from ragkit.settings.ingest_options import IngestOptions
from ragkit.text.analyse import ANALYSER

if TYPE_CHECKING:
    from ragkit.settings.settings import Settings
    from ragkit.types import EmbeddingSpace

# To be raised when parsers or chunker come to give other results: documents are then made anew.
PARSING = 4
CLEANING = 1
CHUNKING = 2


def fingerprint(
    settings: Settings,
    options: IngestOptions,
    space: EmbeddingSpace | None = None,
    first: int | None = None,
    *,
    analyser: str = ANALYSER,
) -> str:
    """Hash everything that turns a file's bytes into chunks, terms and vectors.

    `space` takes the place of the settings' model, and `first` of their dimension; `analyser` is
    the collection's. Raises ModelError when the settings' model cannot be found.
    """
    if space is None:
        from ragkit.knowledge.embedders import embed_model, identify

        space, first = identify(settings, embed_model(settings)), settings.embed_dimension
    parts: dict[str, object] = {
        "parsing": PARSING,
        "cleaning": CLEANING,
        "chunking": CHUNKING,
        "options": _chosen(options),
        "analyser": analyser,
        "model": [space.model, space.revision],
        "prefix": space.passage_prefix,
    }
    if first is not None:
        parts["dimension"] = first
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


def _chosen(options: IngestOptions) -> dict[str, object]:
    """Return what differs from the defaults, so that a new option makes nothing anew."""
    defaults = IngestOptions().as_json()
    return {name: value for name, value in options.as_json().items() if value != defaults[name]}
