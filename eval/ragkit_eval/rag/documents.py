"""Put a set's own documents into a collection, as a user would: by the program `ragkit ingest`.

Documents that are there already, by name and content, are left alone. Knows nothing of questions.
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
from ragkit.private_files import make_private
from ragkit_eval.rag.labels import Names
from ragkit_eval.sets import LabelledSet, corpus_of
from ragkit_eval.sets.reading import check_documents, file_bytes

if TYPE_CHECKING:
    from ragkit.settings import Settings

_NAME_CHARS = 60  # of a set's name in a collection's; arbitrary


def collection_for(labelled: LabelledSet) -> str:
    """Name the collection of a set's own documents; other documents have another one."""
    digest = hashlib.sha256()
    for name, text in sorted(labelled.documents.items()):
        digest.update(repr((name, text)).encode())
    return f"eval-{labelled.name[:_NAME_CHARS]}-{digest.hexdigest()[:8]}"


def ingest_documents(labelled: LabelledSet, settings: Settings, collection: str) -> int:
    """Bring what a collection lacks of a set's documents into it, and return how many that were.

    Raises UsageError for a set without documents, RagkitError when one cannot be ingested.
    """
    check_documents(labelled)
    missing = _missing(labelled, settings, collection)
    if missing:
        with tempfile.TemporaryDirectory(prefix="ragkit-eval-") as folder:
            files = Path(folder, labelled.name)
            make_private(files)
            corpus_of(replace(labelled, documents=missing), files)
            _ingest(files, collection)
    return len(missing)


def _missing(labelled: LabelledSet, settings: Settings, collection: str) -> Mapping[str, str]:
    from ragkit.store.open import open_database

    with open_database(settings) as database:
        store = database.store(settings.tenant)
        store.create_collection(collection)
        known = store.known(collection)
    names = Names(known)
    return {
        name: text
        for name, text in labelled.documents.items()
        if not any(known[uri][0] == _sha256(text) for uri in names.find(name))
    }


def _ingest(folder: Path, collection: str) -> None:
    command = [sys.executable, "-m", "ragkit", "ingest", str(folder), "--collection", collection]
    # Its progress goes on to standard error; what it prints at the end is for our errors.
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode != 0:
        said = " ".join(done.stdout.split())
        raise RagkitError(
            f"the set's documents could not all be ingested (exit code {done.returncode}):"
            f" {said[:500] or 'see above'}"
        )


def _sha256(text: str) -> str:
    return hashlib.sha256(file_bytes(text)).hexdigest()
