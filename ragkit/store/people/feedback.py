"""Ratings of answers in PostgreSQL, each with a copy of the rated answer.

A principal rates the answers to its own questions; a tenant's ratings can be listed and exported as
items to evaluate with.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final, Literal
from uuid import UUID

from ragkit.errors import NotFoundError, UsageError
from ragkit.store.connection.rows import kept_citations
from ragkit.store.documents.visible import HIDDEN_DOCUMENTS
from ragkit.store.people.conversations import storable
from ragkit.store.people.kept_answers import is_answer_id
from ragkit.store.session import TenantSessions
from ragkit.types import Citation

if TYPE_CHECKING:
    from psycopg import Connection
    from psycopg_pool import ConnectionPool

    from ragkit.store.documents.filter_sql import Readers

Rating = Literal["up", "down"]
MAX_COMMENT_CHARS: Final = 4000  # arbitrary
BATCH: Final = 200  # arbitrary: ratings read at a time for an export
NUMBERS: Final[Mapping[str, int]] = {"up": 1, "down": -1}
MAX_NUMBER: Final = 2**63 - 1  # PostgreSQL's bigint

_TURN = re.compile(r"([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})/([1-9][0-9]{0,8})")

# Rating is one statement: the answer may be deleted at any moment. What was stored is read by
# another one: Citus returns no sub-selects from a write.
_RATE = """
    INSERT INTO feedback (tenant, principal, answer_id, rating, comment, collection, question,
        query, answer, refused, citations)
"""
_OF_KEPT = """
    SELECT tenant, principal, id, %(rating)s::smallint, %(comment)s::text, collection, question,
        query, answer, refused, citations
    FROM kept_answer
    WHERE tenant = %(tenant)s AND principal = %(principal)s AND id = %(answer)s
        AND created_at > now() - make_interval(days => %(keep_days)s)
        AND (%(collections)s::text[] IS NULL OR collection = ANY(%(collections)s))
"""
_OF_TURN = """
    SELECT t.tenant, t.principal, %(answer)s::text, %(rating)s::smallint, %(comment)s::text,
        c.collection, t.question, t.query, t.answer, t.refused, t.citations
    FROM turn t JOIN conversation c ON c.tenant = t.tenant AND c.principal = t.principal
        AND c.id = t.conversation_id
    WHERE t.tenant = %(tenant)s AND t.principal = %(principal)s
        AND t.conversation_id = %(conversation)s AND t.ordinal = %(ordinal)s
        AND (%(collections)s::text[] IS NULL OR c.collection = ANY(%(collections)s))
"""
_REPLACES = """
    ON CONFLICT (tenant, principal, answer_id) DO UPDATE
    SET rating = excluded.rating, comment = excluded.comment, updated_at = excluded.updated_at
"""
_COLUMNS = f"""
    id, principal, answer_id, CASE rating WHEN 1 THEN 'up' ELSE 'down' END, comment, collection,
    question, query, answer, refused, citations, created_at, updated_at,
    {HIDDEN_DOCUMENTS}
"""
_RATE_KEPT = f"{_RATE} {_OF_KEPT} {_REPLACES} RETURNING id"
_RATE_TURN = f"{_RATE} {_OF_TURN} {_REPLACES} RETURNING id"
# An answer that has a rating can be rated anew when it is gone itself.
_RATE_AGAIN = """
    UPDATE feedback SET rating = %(rating)s, comment = %(comment)s, updated_at = now()
    WHERE tenant = %(tenant)s AND principal = %(principal)s AND answer_id = %(answer)s
        AND (%(collections)s::text[] IS NULL OR collection = ANY(%(collections)s))
    RETURNING id
"""
_ONE = f"SELECT {_COLUMNS} FROM feedback WHERE tenant = %(tenant)s AND id = %(id)s"  # noqa: S608
_PAGE = f"""
    SELECT {_COLUMNS} FROM feedback
    WHERE tenant = %(tenant)s AND (%(after)s::bigint IS NULL OR id < %(after)s)
        AND (%(collections)s::text[] IS NULL OR collection = ANY(%(collections)s))
        AND (%(rating)s::smallint IS NULL OR rating = %(rating)s)
        AND (principal = %(principal)s
            OR {HIDDEN_DOCUMENTS} = '{{}}')
    ORDER BY id DESC LIMIT %(limit)s
"""  # noqa: S608
_DELETE = """
    DELETE FROM feedback WHERE tenant = %(tenant)s AND id = %(id)s
        AND (%(principal)s::text IS NULL OR principal = %(principal)s)
        AND (%(collections)s::text[] IS NULL OR collection = ANY(%(collections)s))
"""


@dataclass(frozen=True, slots=True)
class Rated:
    """A rating with a copy of the answer; `query` is the question as it stands alone."""

    id: int
    principal: str
    answer_id: str
    rating: Rating
    comment: str
    collection: str
    question: str
    query: str
    answer: str
    refused: bool
    citations: tuple[Citation, ...]
    created_at: datetime
    updated_at: datetime


class Feedback(TenantSessions):
    """One principal's ratings, and its tenant's; methods raise DatabaseError.

    A stored answer that is older than `keep_days` cannot be rated, unless it has a rating; ratings
    themselves stay. `collections` of a method are those that the caller may see; None means all.
    Other principals' ratings of answers from documents that the `readers` may not read are left
    out, and so are the citations of these documents. None: an operator.
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

    def rate(
        self,
        answer_id: str,
        rating: Rating,
        comment: str = "",
        *,
        collections: Sequence[str] | None = None,
    ) -> Rated:
        """Rate a kept answer, by its id, or a conversation's turn, by CONVERSATION/ORDINAL.

        A second rating of the same answer replaces the first. Raises NotFoundError for an answer
        that is not stored or another principal's, UsageError for a comment that is too long.
        """
        if len(comment) > MAX_COMMENT_CHARS:
            raise UsageError(
                f"the comment has {len(comment)} characters: {MAX_COMMENT_CHARS} are kept"
            )
        if not is_answer_id(answer_id):
            raise _no_answer(answer_id)
        turn = _TURN.fullmatch(answer_id)
        values: dict[str, object] = self._values(collections) | {
            "principal": self._principal,
            "answer": answer_id,
            "keep_days": self._keep_days,
            "rating": NUMBERS[rating],
            "comment": storable(comment),
        }
        if turn is not None:
            values |= {"conversation": UUID(turn[1]), "ordinal": int(turn[2])}
        with self._session() as session:
            for statement in (_RATE_KEPT if turn is None else _RATE_TURN, _RATE_AGAIN):
                row = session.row(statement, values)
                if row is not None:
                    rated = session.row(_ONE, {"id": row[0]})
                    assert rated is not None, "it was just stored"
                    return _rated(rated)
        raise _no_answer(answer_id)

    def page(
        self,
        limit: int,
        *,
        after: int | None = None,
        rating: Rating | None = None,
        collections: Sequence[str] | None = None,
    ) -> Sequence[Rated]:
        """List the tenant's ratings, of everybody, the latest first, from below the id `after`."""
        values = self._values(collections) | {
            "limit": limit,
            "after": after,
            "rating": NUMBERS[rating] if rating is not None else None,
        }
        with self._session() as session:
            return [_rated(row) for row in session.execute(_PAGE, values)]

    def all(
        self, *, rating: Rating | None = None, collections: Sequence[str] | None = None
    ) -> Iterator[Rated]:
        """Iterate over the tenant's ratings, the latest first, reading some at a time."""
        after: int | None = None
        while page := self.page(BATCH, after=after, rating=rating, collections=collections):
            yield from page
            after = page[-1].id

    def delete(
        self, number: int, *, everybody: bool = False, collections: Sequence[str] | None = None
    ) -> None:
        """Delete the principal's rating, or any of the tenant's. Raises NotFoundError."""
        values = self._values(collections) | {
            "id": number,
            "principal": None if everybody else self._principal,
        }
        if 0 < number <= MAX_NUMBER:
            with self._session() as session:
                if session.execute(_DELETE, values).rowcount == 1:
                    return
        raise NotFoundError(f"there is no rating {number}")

    def _values(self, collections: Sequence[str] | None) -> dict[str, object]:
        listed = None if collections is None else list(collections)
        return {"principal": self._principal, "collections": listed}


def _no_answer(text: str) -> NotFoundError:
    return NotFoundError(
        f"there is no kept answer {text[:60]!r}: ask with `store` switched on, or name a"
        " conversation's turn as CONVERSATION/ORDINAL"
    )


def _rated(row: Sequence[Any]) -> Rated:
    *values, hidden = row
    values[10] = kept_citations(values[10], hidden)
    return Rated(*values)
