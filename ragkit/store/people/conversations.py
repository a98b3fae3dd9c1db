"""Conversations of one principal in PostgreSQL; each turn is written once, when it is complete.

Every call is one short session; while a question is being answered, the conversation carries a
token with an end.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final, cast
from uuid import UUID

from ragkit.errors import BusyError, NotFoundError, UsageError
from ragkit.store.documents.visible import HIDDEN_DOCUMENTS
from ragkit.store.people.turns import StoredTurn, UsedPassage, read_turn, storable, turn_values
from ragkit.store.session import Session, TenantSessions

if TYPE_CHECKING:
    from psycopg import Connection
    from psycopg_pool import ConnectionPool

    from ragkit.store.documents.filter_sql import Readers

__all__ = [
    "LEASE_S",
    "Conversations",
    "StoredConversation",
    "StoredTurn",
    "UsedPassage",
    "storable",
    "title_of",
]

# How long a conversation stays taken when the program that answers has died: longer than a living
# one is silent between two renewals. Arbitrary; RAGKIT_LLM_TIMEOUT_S is 60 unless set.
LEASE_S: Final = 90
MIN_PREFIX: Final = 4  # characters of an id that may stand for it
MAX_TITLE_CHARS: Final = 200  # arbitrary
TITLE_CHARS: Final = 80  # of a question, as a title; arbitrary: a line of a list

_SELECT = """
    SELECT c.id, c.collection, c.title, c.summary, c.summarised, c.created_at, c.updated_at,
        (SELECT count(*) FROM turn t WHERE t.tenant = c.tenant AND t.principal = c.principal
            AND t.conversation_id = c.id)
    FROM conversation c WHERE c.tenant = %(tenant)s AND c.principal = %(principal)s
"""
_LIST = f"SELECT * FROM ({_SELECT}) c WHERE count > 0 ORDER BY updated_at DESC, id DESC"  # noqa: S608
_PAGE = f"""
    SELECT * FROM ({_SELECT}) c
    WHERE count > 0 AND (%(collections)s::text[] IS NULL OR collection = ANY(%(collections)s))
        AND (%(time)s::timestamptz IS NULL OR (updated_at, id) < (%(time)s, %(id)s))
        AND (%(part)s::text = '' OR strpos(lower(title), lower(%(part)s)) > 0 OR EXISTS (
            SELECT 1 FROM turn t WHERE t.tenant = %(tenant)s AND t.principal = %(principal)s
                AND t.conversation_id = c.id AND strpos(lower(t.question), lower(%(part)s)) > 0))
    ORDER BY updated_at DESC, id DESC LIMIT %(limit)s
"""  # noqa: S608
_ONE = _SELECT + " AND c.id = %(id)s"
_KEY = " WHERE tenant = %(tenant)s AND principal = %(principal)s AND id = %(id)s"
_TURN_KEY = " WHERE tenant = %(tenant)s AND principal = %(principal)s AND conversation_id = %(id)s"
_IDS = """
    SELECT id FROM conversation
    WHERE tenant = %(tenant)s AND principal = %(principal)s AND id::text LIKE %(prefix)s LIMIT 2
"""
_TURNS = f"""
    SELECT ordinal, question, query, answer, refused, reason, citations, claims, unverified, used,
        first_source, cited, trace, timings, created_at, {HIDDEN_DOCUMENTS}
    FROM turn {_TURN_KEY} ORDER BY ordinal
"""  # noqa: S608  built from constants only, as below
_CREATE = """
    INSERT INTO conversation (tenant, principal, id, collection, title)
    VALUES (%(tenant)s, %(principal)s, %(id)s, %(collection)s, %(title)s)
    ON CONFLICT DO NOTHING
"""
_TAKE = f"""
    UPDATE conversation
    SET asking = %(token)s, asking_until = now() + make_interval(secs => %(lease)s)
    {_KEY} AND (asking IS NULL OR asking_until <= now())
"""  # noqa: S608
_REMAINING = f"""
    SELECT ceil(extract(epoch FROM asking_until - now()))::integer FROM conversation {_KEY}
"""  # noqa: S608
_RENEW = f"""
    UPDATE conversation SET asking_until = now() + make_interval(secs => %(lease)s)
    {_KEY} AND asking = %(token)s
"""  # noqa: S608
_GIVE_BACK = f"""
    UPDATE conversation SET asking = NULL, asking_until = NULL {_KEY} AND asking = %(token)s
"""  # noqa: S608
_DROP_EMPTY = f"""
    DELETE FROM conversation c {_KEY} AND asking = %(token)s
        AND NOT EXISTS (SELECT 1 FROM turn t WHERE t.tenant = c.tenant
            AND t.principal = c.principal AND t.conversation_id = c.id)
"""  # noqa: S608
_FINISH = f"""
    UPDATE conversation SET asking = NULL, asking_until = NULL, updated_at = now()
    {_KEY} AND asking = %(token)s
"""  # noqa: S608
_ADD_TURN = """
    INSERT INTO turn (tenant, principal, conversation_id, ordinal, question, query, answer, refused,
        reason, citations, claims, unverified, used, first_source, cited, trace,
        timings)
    SELECT %(tenant)s, %(principal)s, %(id)s, coalesce(max(ordinal), 0) + 1, %(question)s,
        %(query)s, %(answer)s, %(refused)s, %(reason)s, %(citations)s, %(claims)s, %(unverified)s,
        %(used)s, %(first_source)s, %(cited)s, %(trace)s, %(timings)s
    FROM turn WHERE tenant = %(tenant)s AND principal = %(principal)s AND conversation_id = %(id)s
    RETURNING ordinal, created_at
"""
_DROP_TURN = f"DELETE FROM turn {_TURN_KEY} AND ordinal = %(ordinal)s"  # noqa: S608
_FORGET_SUMMARY = f"""
    UPDATE conversation SET summary = '', summarised = 0 {_KEY} AND summarised >= %(ordinal)s
"""  # noqa: S608
# A conversation with its first question as title gets the question that replaces it.
_RETITLE = f"""
    UPDATE conversation c SET title = %(title)s {_KEY} AND title = %(replaced_title)s
        AND (SELECT count(*) FROM turn t WHERE t.tenant = c.tenant AND t.principal = c.principal
            AND t.conversation_id = c.id) = 1
"""  # noqa: S608
# The last turn that the summary covers must still exist: it may have been replaced meanwhile.
_SUMMARISE = f"""
    UPDATE conversation c SET summary = %(summary)s, summarised = %(new)s
    {_KEY} AND summarised = %(old)s
        AND EXISTS (SELECT 1 FROM turn t WHERE t.tenant = c.tenant AND t.principal = c.principal
            AND t.conversation_id = c.id AND t.ordinal = %(new)s)
"""  # noqa: S608
_RENAME = f"UPDATE conversation SET title = %(title)s {_KEY}"  # noqa: S608
_DELETE = f"DELETE FROM conversation {_KEY}"  # noqa: S608
_DELETE_ALL = """
    DELETE FROM conversation WHERE tenant = %(tenant)s AND principal = %(principal)s
"""


@dataclass(frozen=True, slots=True)
class StoredConversation:
    """A conversation without its turns; `summary` covers those up to ordinal `summarised`."""

    id: UUID
    collection: str
    title: str
    summary: str
    summarised: int
    created_at: datetime
    updated_at: datetime
    turns: int


class Conversations(TenantSessions):
    """One principal's conversations; methods raise DatabaseError, NotFoundError for no such one.

    Answers stay as they were given; citations of documents that the `readers` may not read, or no
    longer, are left out. None: an operator.
    """

    def __init__(
        self,
        pool: ConnectionPool[Connection[Any]],
        tenant: str,
        principal: str,
        readers: Readers = None,
    ) -> None:
        super().__init__(pool, tenant, readers)
        self._principal = principal

    def all(self) -> Sequence[StoredConversation]:
        """List those that have turns, the latest first."""
        with self._session() as session:
            rows = session.execute(_LIST, self._values())
            return [StoredConversation(*row) for row in rows]

    def page(
        self,
        limit: int,
        *,
        after: tuple[datetime, UUID] | None = None,
        collections: Sequence[str] | None = None,
        search: str = "",
    ) -> Sequence[StoredConversation]:
        """List some of those that have turns, the latest first, from behind `after`.

        `after` is the time of the last change and the id of the last one listed; `collections` are
        those that the caller may see, None means all. `search` is a part of the title or of a
        question, in whatever case.
        """
        time, id = after or (None, None)
        values = {
            **self._values(),
            "collections": None if collections is None else list(collections),
            "time": time,
            "id": id,
            "part": storable(search.strip()),
            "limit": limit,
        }
        with self._session() as session:
            return [StoredConversation(*row) for row in session.execute(_PAGE, values)]

    def find(self, text: str) -> UUID:
        """Find the id that a text is or begins. Raises UsageError when it begins two."""
        start = text.strip().casefold()
        if not re.fullmatch(rf"[0-9a-f-]{{{MIN_PREFIX},36}}", start):
            raise missing(text)
        with self._session() as session:
            values = {**self._values(), "prefix": start + "%"}
            rows = session.execute(_IDS, values).fetchall()
        if len(rows) > 1:
            raise UsageError(f"more than one conversation begins with {start!r}: write more of it")
        if not rows:
            raise missing(text)
        return cast("UUID", rows[0][0])

    def get(self, number: UUID) -> StoredConversation:
        """Look one up."""
        with self._session() as session:
            row = session.row(_ONE, self._values(number))
        if row is None:
            raise missing(str(number))
        return StoredConversation(*row)

    def turns(self, number: UUID) -> Sequence[StoredTurn]:
        """List a conversation's turns in their order; none for an unknown one."""
        with self._session() as session:
            return [read_turn(row) for row in session.execute(_TURNS, self._values(number))]

    def begin(self, number: UUID, token: UUID, *, new: tuple[str, str] | None = None) -> None:
        """Take a conversation for one question; `new` creates it, with its collection and title.

        Raises BusyError while another question to it is being answered.
        """
        values = {**self._values(number), "token": token, "lease": LEASE_S}
        with self._session() as session:
            if new is not None:
                columns = {"collection": storable(new[0]), "title": storable(new[1])}
                session.execute(_CREATE, {**values, **columns})
            if session.execute(_TAKE, values).rowcount == 1:
                return
            row = session.row(_REMAINING, values)
        if row is None:
            raise missing(str(number))
        raise BusyError(
            f"conversation {number} is answering another question: wait for that one (if its"
            f" program has died, {max(row[0] or 1, 1)} s), or begin a new conversation"
        )

    def renew(self, number: UUID, token: UUID) -> None:
        """Put off the time at which others may take the conversation."""
        values = {**self._values(number), "token": token, "lease": LEASE_S}
        with self._session() as session:
            session.execute(_RENEW, values)

    def abandon(self, number: UUID, token: UUID) -> None:
        """Give a conversation back without a turn; one that has none at all is deleted."""
        values = {**self._values(number), "token": token}
        with self._session() as session:
            session.execute(_DROP_EMPTY, values)
            session.execute(_GIVE_BACK, values)

    def finish(
        self, number: UUID, token: UUID, turn: StoredTurn, *, replaces: StoredTurn | None = None
    ) -> tuple[int, datetime]:
        """Write a turn and give the conversation back; return the turn's ordinal and time.

        `replaces`, the last turn, goes at the same moment, with a summary that covers it. The new
        one has an ordinal of its own: a rating names the replaced one, and must not become its.
        Raises NotFoundError when the conversation was deleted meanwhile, or taken by another.
        """
        values = {**turn_values(turn), **self._values(number), "token": token}
        with self._session() as session:
            if session.execute(_FINISH, values).rowcount != 1:
                raise NotFoundError(
                    f"the answer was not kept: conversation {number} was deleted, or asked another"
                    " question, before it was complete"
                )
            row = session.row(_ADD_TURN, values)
            assert row is not None
            if replaces is not None:
                self._replace(session, number, replaces, turn)
            return row[0], row[1]

    def summarise(self, number: UUID, summary: str, *, old: int, new: int) -> bool:
        """Store a summary of the turns up to `new`, unless that up to `old` is no longer there.

        Nor is it stored when the turn `new` has been replaced.
        """
        values = {**self._values(number), "summary": storable(summary), "old": old, "new": new}
        with self._session() as session:
            return session.execute(_SUMMARISE, values).rowcount == 1

    def rename(self, number: UUID, title: str) -> None:
        """Give a conversation another title, white space made single; its place stays as it is.

        Raises UsageError for a title that is empty or too long.
        """
        title = storable(" ".join(title.split()))
        if not 0 < len(title) <= MAX_TITLE_CHARS:
            raise UsageError(
                f"a title has 1 to {MAX_TITLE_CHARS} characters, this one {len(title)}"
            )
        with self._session() as session:
            if session.execute(_RENAME, {**self._values(number), "title": title}).rowcount != 1:
                raise missing(str(number))

    def delete(self, number: UUID) -> None:
        """Delete a conversation with all its turns and its summary."""
        with self._session() as session:
            if session.execute(_DELETE, self._values(number)).rowcount != 1:
                raise missing(str(number))

    def delete_all(self) -> int:
        """Delete every conversation of the principal; return how many there were."""
        with self._session() as session:
            return session.execute(_DELETE_ALL, self._values()).rowcount

    def _replace(
        self, session: Session, number: UUID, replaced: StoredTurn, turn: StoredTurn
    ) -> None:
        """Delete a turn, a summary that covers it, and a title made of its question."""
        values = {
            **self._values(number),
            "ordinal": replaced.ordinal,
            "title": title_of(turn.question),
            "replaced_title": title_of(replaced.question),
        }
        deleted = session.execute(_DROP_TURN, values).rowcount
        assert deleted == 1, "no other program deletes turns while it is taken"
        session.execute(_FORGET_SUMMARY, values)
        session.execute(_RETITLE, values)

    def _values(self, number: UUID | None = None) -> Mapping[str, object]:
        return {"principal": self._principal, "id": number}


def missing(text: str) -> NotFoundError:
    """Say that there is no such conversation, the same for another principal's."""
    return NotFoundError(
        f"there is no conversation {text[:40]!r}: `ragkit conversations list` shows yours"
    )


def title_of(question: str) -> str:
    """Make a conversation's title of its first question; a long one ends after a word, with "…".

    >>> title_of("long " * 20) == "long " * 14 + "long…"
    True
    """
    text = storable(" ".join(question.split()))
    if len(text) <= TITLE_CHARS:
        return text
    cut = text[: TITLE_CHARS - 1]
    words, _, word = cut.rpartition(" ")
    return f"{(words if words and len(word) < TITLE_CHARS // 2 else cut).rstrip()}…"
