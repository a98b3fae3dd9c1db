"""A small collection in a real database, with a labelled question for each of its paragraphs.

The embedder counts words, so that nothing is loaded and no document goes through ingestion.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from pydantic import SecretStr

from ragkit import KnowledgeBase, Settings
from ragkit.store.open import Database
from ragkit.testing import FakeEmbedder, new_document

PLACES: Final = (
    "Arklow Bray Cashel Dingle Ennis Foynes Gorey Howth Inch Kells Lahinch Mallow Navan Omagh"
    " Portlaoise Quin Roscrea Sligo Tralee Urlingford"
).split()
SUBJECTS: Final = {
    "pumps": "The pumps of {place} move {n} litres of water an hour from the river to the tank.",
    "night shift": "The night shift in {place} begins at {n} minutes past ten and ends at dawn.",
    "visitors": "Visitors to {place} wait in room {n} until somebody from security fetches them.",
    "filters": "Mechanics replace the filters of the {place} turbines after {n} days of operation.",
}


def documents() -> dict[str, list[str]]:
    """Return 20 documents, each with four paragraphs that no other has."""
    return {
        f"/d/{place.lower()}.md": [
            text.format(place=place, n=10 * n + m) for m, text in enumerate(SUBJECTS.values())
        ]
        for n, place in enumerate(PLACES, 11)
    }


def labels(collection: Mapping[str, Sequence[str]]) -> list[dict[str, Any]]:
    """Return a question for each paragraph, with its span."""
    lines = []
    for uri, paragraphs in collection.items():
        place, start = uri[3:-3].title(), 0
        for subject, paragraph in zip(SUBJECTS, paragraphs, strict=False):
            span = {"document": uri, "start": start, "end": start + len(paragraph)}
            lines.append(
                {
                    "id": f"{place}-{subject}",
                    "question": f"What is said of the {subject} at {place}?",
                    "spans": [{**span, "text": paragraph}],
                }
            )
            start += len(paragraph) + 2
    return lines


def store_documents(
    database: Database, collection: str, texts: Mapping[str, Sequence[str]]
) -> KnowledgeBase:
    """Store documents whose passages are the given paragraphs, and return a knowledge base."""
    embedder = FakeEmbedder()
    embedder.load()
    settings = Settings(database_url=SecretStr("postgresql://unused"))
    store = database.store(settings.tenant)
    store.create_collection(collection)
    for uri, paragraphs in texts.items():
        document = replace(new_document(uri, *paragraphs), language="en")
        vectors = embedder.embed_passages(paragraphs)
        store.put_document(collection, document, embedder.space, vectors)
    return KnowledgeBase.over(database, settings, collection=collection, embedder=embedder)


def write_labels(path: Path, lines: Sequence[Mapping[str, Any]]) -> Path:
    """Write a labelled set."""
    with open(path, "w", encoding="utf-8") as file:
        file.writelines(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)
    return path
