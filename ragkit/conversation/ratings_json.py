"""A rating as JSON: for a list, and as an item of an evaluation."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ragkit import api_values
from ragkit.json_values import copy_as, to_json

if TYPE_CHECKING:
    from ragkit.store.people.feedback import Rated


def rated_json(rated: Rated) -> dict[str, Any]:
    """Return a rating's JSON in a list."""
    fields: dict[str, Any] = to_json(copy_as(api_values.Rated, rated))
    return fields


def evaluation_item(rated: Rated) -> dict[str, Any]:
    """Return a rating as an item of an evaluation: a question that stands alone, with its answer.

    `asked` is the question as typed, which in a conversation may need the turns before.
    """
    return {
        "id": rated.id,
        "question": rated.query,
        "asked": rated.question,
        "answer": rated.answer,
        "refused": rated.refused,
        "rating": rated.rating,
        "comment": rated.comment,
        "collection": rated.collection,
        "citations": [
            {
                "document": citation.document,
                "version": citation.version,
                "uri": citation.uri,
                "start": citation.start,
                "end": citation.end,
                "quote": citation.quote,
            }
            for citation in rated.citations
        ],
        "created_at": rated.created_at.isoformat(timespec="seconds"),
    }
