"""Answers that a request had stored (`store`), for as many days as the settings say.

A rating of one holds a copy of its own.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from psycopg.types.json import Jsonb

from ragkit.errors import NotFoundError
from ragkit.store.documents.visible import HIDDEN_DOCUMENTS
from ragkit.store.people.conversations import storable
from ragkit.store.session import TenantSessions
from ragkit.types import Answer, Citation

if TYPE_CHECKING:
    from psycopg import Connection
    from psycopg_pool import ConnectionPool

    from ragkit.store.documents.filter_sql import Readers

_ID = re.compile(r"[!-~]{1,200}")

_SWEEP = "SELECT ragkit_forget_answers(%(keep_days)s)"
_KEEP = """
    INSERT INTO kept_answer (tenant, principal, id, collection, question, query, answer, refused,
        citations, completion)
    VALUES (%(tenant)s, %(principal)s, %(id)s, %(collection)s, %(question)s, %(query)s,
        %(answer)s, %(refused)s, %(citations)s, %(completion)s::json)
    ON CONFLICT DO NOTHING
"""
_ANSWER = """
    tenant = %(tenant)s AND principal = %(principal)s AND id = %(id)s
        AND created_at > now() - make_interval(days => %(keep_days)s)
        AND (%(collections)s::text[] IS NULL OR collection = ANY(%(collections)s))
"""
_FIND = f"""
    SELECT completion, {HIDDEN_DOCUMENTS} FROM kept_answer WHERE {_ANSWER}
"""  # noqa: S608
_DELETE = f"DELETE FROM kept_answer WHERE {_ANSWER}"  # noqa: S608


class KeptAnswers(TenantSessions):
    """One principal's stored answers; methods raise DatabaseError.

    One that is older than `keep_days` is not found. `collections` of a method are those that the
    caller may see; None means all. Citations of documents that the `readers` may not read, or no
    longer, are left out. None: an operator.
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
        super().__init__(pool, tenant, readers)
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
        """Store an answer under its completion's id; delete all that are too old.

        `query` is what was searched for, where that is not the question. `completion` is the answer
        as it was sent, as JSON. One that is stored already stays.
        """
        if not is_answer_id(id):
            raise _missing(id)
        values = {
            "principal": self._principal,
            "id": id,
            "collection": storable(collection),
            "question": storable(question),
            "query": storable(question if query is None else query),
            "answer": storable(answer.text),
            "refused": answer.refused,
            "citations": Jsonb([_citation_json(citation) for citation in answer.citations]),
            "completion": storable(json.dumps(completion, ensure_ascii=False)),
        }
        with self._session() as session:  # the tables' owner sweeps: Citus takes one role at a time
            session.execute(_SWEEP, {"keep_days": self._keep_days})
        with self._session() as session:
            session.execute(_KEEP, values)

    def completion(self, id: str, *, collections: Sequence[str] | None = None) -> Mapping[str, Any]:
        """Return a kept answer as it was sent. Raises NotFoundError."""
        if is_answer_id(id):
            with self._session() as session:
                row = session.row(_FIND, self._values(id, collections))
            if row is not None:
                completion: Mapping[str, Any] = without_citations(row[0], frozenset(row[1]))
                return completion
        raise _missing(id)

    def delete(self, id: str, *, collections: Sequence[str] | None = None) -> None:
        """Delete a kept answer; a rating of it stays, with its copy. Raises NotFoundError."""
        if is_answer_id(id):
            with self._session() as session:
                if session.execute(_DELETE, self._values(id, collections)).rowcount == 1:
                    return
        raise _missing(id)

    def _values(self, id: str, collections: Sequence[str] | None) -> dict[str, object]:
        return {
            "principal": self._principal,
            "id": id,
            "keep_days": self._keep_days,
            "collections": None if collections is None else list(collections),
        }


def without_citations(value: Any, documents: frozenset[int]) -> Any:
    """Return a completion's JSON without the citations of some documents."""
    if not documents:
        return value
    if isinstance(value, list):
        return [without_citations(item, documents) for item in value]
    if not isinstance(value, dict):
        return value
    visible = {
        name: [citation for citation in field if citation.get("document") not in documents]
        if name == "citations" and isinstance(field, list)
        else field
        for name, field in value.items()
    }
    return {name: without_citations(field, documents) for name, field in visible.items()}


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
