"""Users' questions whose answers got a thumbs up, with the passages that these answers cite."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from ragkit.text.language import language
from ragkit.types import Citation, Document, Span
from ragkit_tune.data.labelled import CHANGED, GONE, SPLIT_UP
from ragkit_tune.data.questions import Place, Question
from ragkit_tune.data.sources import Sources

if TYPE_CHECKING:
    from ragkit.knowledge.base import KnowledgeBase
    from ragkit.settings.settings import Settings

UNCITED = "its answer cites nothing"


def rated_questions(
    kb: KnowledgeBase, settings: Settings, sources: Sources, left_out: Counter[str]
) -> list[Question]:
    """Return the questions, the oldest first; count in `left_out` why some cannot be used."""
    from ragkit.store.people.feedback import Feedback

    if kb.database is None:
        return []
    ratings = Feedback(
        kb.database.pool, settings.tenant, settings.principal, keep_days=settings.serve_keep_days
    )
    questions = []
    documents = {document.uri: document for document in sources.documents}
    for rated in ratings.all(rating="up", collections=(kb.collection,)):
        if rated.refused:
            continue
        places: dict[int, Place] = {}
        reasons = []
        for citation in rated.citations:
            place = _find_place(citation, documents, sources)
            if isinstance(place, str):
                reasons.append(place)
            else:
                places.setdefault(place.passage.chunk, place)
        if places:
            text = rated.query or rated.question
            ordered = tuple(places.values())
            detected = language(text) or language(ordered[0].passage.text)
            questions.append(Question(text, ordered, "feedback", detected))
        else:
            left_out[(reasons or [UNCITED])[0]] += 1
    return questions[::-1]


def _find_place(
    citation: Citation, documents: dict[str, Document], sources: Sources
) -> Place | str:
    """Find what an answer cites in the document as it is now, or return why it is not there."""
    document = documents.get(citation.uri)
    if document is None:
        return GONE
    source = sources.read(document)
    span = Span(citation.start, citation.end)
    if source.text[span.start : span.end] != citation.quote:
        start = source.text.find(citation.quote)
        if start < 0 or not citation.quote.strip():
            return CHANGED
        span = Span(start, start + len(citation.quote))
    passage = source.holding(span)
    return SPLIT_UP if passage is None else Place(passage, span)
