"""Whether a set's questions and a collection's documents are in the same language.

It counts and warns; nothing is refused, for a model may well read across languages.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from ragkit.embed.models import model_card
from ragkit.text.crossing import Asked, crossing_note
from ragkit_eval.sets import LabelledSet

if TYPE_CHECKING:
    from ragkit.knowledge import KnowledgeBase


def language_notes(
    labelled: LabelledSet, uris: Mapping[str, str], kb: KnowledgeBase
) -> tuple[str, ...]:
    """Say that questions ask documents in another language: one line, or none.

    A question is held against the documents that its labels name (`uris`, see `locate`), and
    without labels against all. Loads the embedding model where the mode searches with it.
    """
    languages = {document.uri: document.language for document in kb.store.documents(kb.collection)}
    everything = list(languages.values())
    asked = []
    for question in labelled.questions:
        names = [*question.relevant, *(document.document for document in question.excerpts)]
        own = {uris[name] for name in names if name in uris}
        named = [languages[uri] for uri in own if uri in languages]
        asked.append(Asked(question.text, named or everything))
    model = ""
    if kb.mode != "lexical":
        kb.embedder.load()
        model = kb.embedder.space.model
    note = crossing_note(asked, everything, model=model, reads=model_card(model).reads)
    return (note,) if note else ()


def tell(notes: Sequence[str]) -> list[str]:
    """Write notes on standard error, a line each, and return them."""
    for note in notes:
        sys.stderr.write(f"ragkit: note: {note}\n")
    return list(notes)
