"""Warn about questions whose language differs from the documents'.

Nothing is refused, because many models read across languages.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from ragkit.embed.models import model_card
from ragkit.text.other_language import Asked, crossing_note
from ragkit_eval.sets import LabelledSet

if TYPE_CHECKING:
    from ragkit.knowledge.base import KnowledgeBase


def language_notes(
    labelled: LabelledSet, uris: Mapping[str, str], kb: KnowledgeBase
) -> tuple[str, ...]:
    """Return a note if questions ask documents in another language: one line, or none.

    A question is compared with its labelled documents (`uris`, see `locate`), without labels with
    all documents. Loads the embedding model if the mode searches with it.
    """
    languages = {document.uri: document.language for document in kb.store.documents(kb.collection)}
    all_languages = list(languages.values())
    questions = []
    for question in labelled.questions:
        names = [*question.relevant, *(document.document for document in question.excerpts)]
        labelled_uris = {uris[name] for name in names if name in uris}
        labelled_languages = [languages[uri] for uri in labelled_uris if uri in languages]
        questions.append(Asked(question.text, labelled_languages or all_languages))
    model = ""
    if kb.mode != "lexical":
        kb.embedder.load()
        model = kb.embedder.space.model
    note = crossing_note(questions, all_languages, model=model, reads=model_card(model).reads)
    return (note,) if note else ()


def print_notes(notes: Sequence[str]) -> list[str]:
    """Write notes to standard error, one line each, and return them."""
    for note in notes:
        sys.stderr.write(f"ragkit: note: {note}\n")
    return list(notes)
