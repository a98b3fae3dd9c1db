"""Answers that somebody asked to be kept, in PostgreSQL, for as many days as the settings say.

It knows nothing of what stands in a completion, and nothing of ratings, which hold copies.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from psycopg.types.json import Jsonb

from ragkit.errors import NotFoundError
from ragkit.store.access import listed
from ragkit.store.conversations import storable
from ragkit.store.lending import transaction
from ragkit.store.where import Readers
from ragkit.types import Answer, Citation

if TYPE_CHECKING:
    from psycopg import Connection
    from psycopg_pool import ConnectionPool

_ID = re.compile(r"[!-~]{1,200}")

_SWEEP = "SELECT ragkit_forget_answers(%s)"
_KEEP = """
    INSERT INTO kept_answer (tenant, principal, id, collection, question, query, answer, refused,
        citations, completion)
    VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s::json) ON CONFLICT DO NOTHING
"""
_MINE = """
    tenant = %(tenant)s AND principal = %(principal)s AND id = %(id)s
        AND created_at > now() - make_interval(days => %(keep_days)s)
        AND (%(collections)s::text[] IS NULL OR collection = ANY(%(collections)s))
"""
_FIND = f"""
    SELECT completion, hidden_documents(tenant, citations, %(readers)s::text[])
    FROM kept_answer WHERE {_MINE}
"""  # noqa: S608
_DELETE = f"DELETE FROM kept_answer WHERE {_MINE}"  # noqa: S608


class KeptAnswers:
    """One principal's kept answers; methods raise DatabaseError.

    One that is older than `keep_days` is not found. `collections` of a method are those that the
    caller may see; None means all. Citations of documents that the `readers` may not read, or no
    longer, are left out. None: an operator, who may read all.
    """

    def __init__(
        self,
        pool: ConnectionPool[Connection[Any]],
        tenant: str,
        principal: str,
        *,
        keep_days: int,
        readers: Readers = None,
    ) -> None:
        self._readers = listed(readers)
        self._pool = pool
        self._tenant = tenant
        self._principal = principal
        self._keep_days = keep_days

    def keep(
        self,
        id: str,
        *,
        collection: str,
        question: str,
        answer: Answer,
        completion: Mapping[str, Any],
        query: str | None = None,
    ) -> None:
        """Keep an answer under its completion's id; everybody's that are too old are swept out.

        `query` is what was searched for, where that is not the question. `completion` is the answer
        as it was sent, as JSON. One that is kept stays.
        """
        if not is_answer_id(id):
            raise _missing(id)
        values = (
            *(self._tenant, self._principal, id, storable(collection)),
            *(storable(question), storable(question if query is None else query)),
            *(storable(answer.text), answer.refused),
            Jsonb([_citation_json(citation) for citation in answer.citations]),
            storable(json.dumps(completion, ensure_ascii=False)),
        )
        with transaction(self._pool, self._tenant) as cursor:
            cursor.execute(_SWEEP, (self._keep_days,))
            cursor.execute(_KEEP, values)

    def completion(self, id: str, *, collections: Sequence[str] | None = None) -> Mapping[str, Any]:
        """Return a kept answer as it was sent. Raises NotFoundError."""
        if is_answer_id(id):
            with transaction(self._pool, self._tenant) as cursor:
                row = cursor.execute(_FIND, self._values(id, collections)).fetchone()
            if row is not None:
                found: Mapping[str, Any] = without_citations(row[0], frozenset(row[1]))
                return found
        raise _missing(id)

    def delete(self, id: str, *, collections: Sequence[str] | None = None) -> None:
        """Delete a kept answer; a rating of it stays, with its copy. Raises NotFoundError."""
        if is_answer_id(id):
            with transaction(self._pool, self._tenant) as cursor:
                if cursor.execute(_DELETE, self._values(id, collections)).rowcount == 1:
                    return
        raise _missing(id)

    def _values(self, id: str, collections: Sequence[str] | None) -> dict[str, object]:
        return {
            "tenant": self._tenant,
            "principal": self._principal,
            "id": id,
            "keep_days": self._keep_days,
            "readers": self._readers,
            "collections": None if collections is None else list(collections),
        }


def without_citations(value: Any, documents: frozenset[int]) -> Any:
    """Return a completion's JSON without the citations of some documents."""
    if not documents:
        return value
    if isinstance(value, list):
        return [without_citations(one, documents) for one in value]
    if not isinstance(value, dict):
        return value
    left = {
        name: [one for one in inside if one.get("document") not in documents]
        if name == "citations" and isinstance(inside, list)
        else inside
        for name, inside in value.items()
    }
    return {name: without_citations(inside, documents) for name, inside in left.items()}


def is_answer_id(text: str) -> bool:
    """Tell whether a text can be a completion's id.

    >>> is_answer_id("chatcmpl-5f0c"), is_answer_id("chat cmpl")
    (True, False)
    """
    return _ID.fullmatch(text) is not None


def _missing(id: str) -> NotFoundError:
    return NotFoundError(
        f"there is no kept answer {id[:60]!r}: one is kept when it is asked for with `store`, and"
        " not for ever"
    )


def _citation_json(citation: Citation) -> dict[str, Any]:
    texts = {name: value for name, value in asdict(citation).items() if isinstance(value, str)}
    headings = [storable(heading) for heading in citation.headings]
    stored = {name: storable(value) for name, value in texts.items()}
    return asdict(citation) | stored | {"headings": headings}
