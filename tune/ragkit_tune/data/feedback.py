"""Users' questions whose answers got a thumbs up, with the passages that these answers cite."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from ragkit.text.language import language
from ragkit.types import Citation, Span
from ragkit_tune.data.labelled import CHANGED, GONE, SPLIT_UP
from ragkit_tune.data.questions import Place, Question
from ragkit_tune.data.sources import Sources

if TYPE_CHECKING:
    from ragkit.knowledge.base import KnowledgeBase
    from ragkit.settings.settings import Settings
    from ragkit.store.people.feedback import Rated, Rating

UNCITED = "its answer cites nothing"


def read_ratings(kb: KnowledgeBase, settings: Settings, rating: Rating) -> Iterator[Rated]:
    """Yield what users of a collection rated so, the newest first; nothing without a database."""
    from ragkit.store.people.feedback import Feedback

    if kb.database is not None:
        keep_days = settings.serve_keep_days
        pool, tenant, principal = kb.database.pool, settings.tenant, settings.principal
        ratings = Feedback(pool, tenant, principal, keep_days=keep_days)
        yield from ratings.all(rating=rating, collections=(kb.collection,))


def rated_questions(
    kb: KnowledgeBase, settings: Settings, sources: Sources, left_out: Counter[str]
) -> list[Question]:
    """Return the questions, the oldest first; count in `left_out` why some cannot be used."""
    questions = []
    for rated in read_ratings(kb, settings, "up"):
        if rated.refused:
            continue
        places: dict[int, Place] = {}
        reasons = []
        for citation in rated.citations:
            place = find_place(citation, sources)
            if isinstance(place, str):
                reasons.append(place)
            else:
                places.setdefault(place.passage.chunk, place)
        if places:
            questions.append(rated_question(rated, places.values()))
        else:
            left_out[(reasons or [UNCITED])[0]] += 1
    return questions[::-1]


def rated_question(rated: Rated, places: Iterable[Place], answer: str = "") -> Question:
    """Return the question of a rated answer, as it was searched for."""
    text, ordered = rated.query or rated.question, tuple(places)
    passages = [place.passage.text for place in ordered[:1]]
    detected = next(filter(None, map(language, [text, *passages])), "")
    return Question(text, ordered, "feedback", detected, answer=answer)


def find_place(citation: Citation, sources: Sources) -> Place | str:
    """Find what an answer cites in the document as it is now, or return why it is not there.

    A quotation that moved is found again; of several that are the same, the first is meant.
    """
    document = sources.at(citation.uri)
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
