"""What a document's chunks and vectors depend on besides its content, as one hash.

Computed without loading a model, so that a run over unchanged files stays quick.
"""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING

from ragkit.text.analyse import ANALYSER

if TYPE_CHECKING:
    from ragkit.settings import Settings

# To be raised when parsers or chunker come to give other results: documents are then made anew.
PARSING = 1
CHUNKING = 1


def fingerprint(settings: Settings) -> str:
    """Hash everything that turns a file's bytes into chunks, terms and vectors.

    Raises ModelError when the embedding model cannot be found.
    """
    from ragkit.embed.find import find_model
    from ragkit.embed.models import model_card

    model = find_model(settings.embed_model)
    parts = {
        "parsing": PARSING,
        "chunking": [CHUNKING, settings.chunk_tokens, settings.chunk_overlap_tokens],
        "analyser": ANALYSER,
        "model": [model.name, model.revision],
        "prefix": model_card(model.name, model.folder).passage_prefix,
    }
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()
