"""Ingest a set's documents into a collection, with the command `ragkit ingest`.

Documents that the collection has, by name and content, are not ingested again.
"""

from __future__ import annotations

import hashlib
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from ragkit.errors import RagkitError
from ragkit.system.private_files import make_private
from ragkit_eval.rag.labels import Names
from ragkit_eval.sets import LabelledSet, corpus_of
from ragkit_eval.sets.reading import check_documents, file_bytes

if TYPE_CHECKING:
    from ragkit.settings.settings import Settings

_NAME_CHARS = 60  # of a set's name in a collection's; arbitrary


def collection_for(labelled: LabelledSet) -> str:
    """Name the collection of a set's documents; the name depends on their content."""
    digest = hashlib.sha256()
    for name, text in sorted(labelled.documents.items()):
        digest.update(repr((name, text)).encode())
    return f"eval-{labelled.name[:_NAME_CHARS]}-{digest.hexdigest()[:8]}"


def ingest_documents(labelled: LabelledSet, settings: Settings, collection: str) -> int:
    """Ingest the documents of a set that a collection lacks, and return their number.

    Raises UsageError for a set without documents, RagkitError when one cannot be ingested.
    """
    check_documents(labelled)
    missing = _find_missing(labelled, settings, collection)
    if missing:
        with tempfile.TemporaryDirectory(prefix="ragkit-eval-") as folder:
            files = Path(folder, labelled.name)
            make_private(files)
            corpus_of(replace(labelled, documents=missing), files)
            _run_ingest(files, collection)
    return len(missing)


def _find_missing(labelled: LabelledSet, settings: Settings, collection: str) -> Mapping[str, str]:
    from ragkit.store.open import open_database

    with open_database(settings) as database:
        store = database.store(settings.tenant)
        store.create_collection(collection)
        stored = store.known(collection)
    names = Names(stored)
    return {
        name: text
        for name, text in labelled.documents.items()
        if not any(stored[uri][0] == _hash_text(text) for uri in names.find(name))
    }


def _run_ingest(folder: Path, collection: str) -> None:
    command = [sys.executable, "-m", "ragkit", "ingest", str(folder), "--collection", collection]
    # Its progress goes to standard error; its output is only for the error message.
    process = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
    if process.returncode != 0:
        output = " ".join(process.stdout.split())
        raise RagkitError(
            f"the set's documents could not all be ingested (exit code {process.returncode}):"
            f" {output[:500] or 'see above'}"
        )


def _hash_text(text: str) -> str:
    return hashlib.sha256(file_bytes(text)).hexdigest()
