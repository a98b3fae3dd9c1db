"""Conversations in PostgreSQL: one principal's, each turn written once, when it is complete.

What is another principal's or tenant's is not there. Every call is one short transaction; while a
question is being answered, only a token with a time on it says so. It knows nothing of models.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final, cast
from uuid import UUID

from psycopg.types.json import Jsonb

from ragkit.errors import BusyError, NotFoundError, UsageError
from ragkit.store.access import listed
from ragkit.store.lending import transaction
from ragkit.store.rows import kept_citations
from ragkit.store.where import Readers
from ragkit.types import Citation, Claim

if TYPE_CHECKING:
    from psycopg import Connection
    from psycopg_pool import ConnectionPool

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
    FROM conversation c WHERE c.tenant = %s AND c.principal = %s
"""
_LIST = f"SELECT * FROM ({_SELECT}) c WHERE count > 0 ORDER BY updated_at DESC, id DESC"  # noqa: S608
_PAGE = f"""
    SELECT * FROM ({_SELECT}) c
    WHERE count > 0 AND (%s::text[] IS NULL OR collection = ANY(%s))
        AND (%s::timestamptz IS NULL OR (updated_at, id) < (%s, %s))
        AND (%s::text = '' OR strpos(lower(title), lower(%s)) > 0 OR EXISTS (
            SELECT 1 FROM turn t WHERE t.tenant = %s AND t.principal = %s
                AND t.conversation_id = c.id AND strpos(lower(t.question), lower(%s)) > 0))
    ORDER BY updated_at DESC, id DESC LIMIT %s
"""  # noqa: S608
_ONE = _SELECT + " AND c.id = %s"
_IDS = """
    SELECT id FROM conversation WHERE tenant = %s AND principal = %s AND id::text LIKE %s LIMIT 2
"""
_TURNS = """
    SELECT ordinal, question, query, answer, refused, reason, citations, claims, unverified, used,
        first_source, cited, trace, timings, created_at,
        hidden_documents(tenant, citations, %s::text[])
    FROM turn WHERE tenant = %s AND principal = %s AND conversation_id = %s ORDER BY ordinal
"""
_CREATE = """
    INSERT INTO conversation (tenant, principal, id, collection, title) VALUES (%s, %s, %s, %s, %s)
    ON CONFLICT DO NOTHING
"""
_TAKE = """
    UPDATE conversation SET asking = %s, asking_until = now() + make_interval(secs => %s)
    WHERE tenant = %s AND principal = %s AND id = %s
        AND (asking IS NULL OR asking_until <= now())
"""
_LEFT = """
    SELECT ceil(extract(epoch FROM asking_until - now()))::integer FROM conversation
    WHERE tenant = %s AND principal = %s AND id = %s
"""
_RENEW = """
    UPDATE conversation SET asking_until = now() + make_interval(secs => %s)
    WHERE tenant = %s AND principal = %s AND id = %s AND asking = %s
"""
_GIVE_BACK = """
    UPDATE conversation SET asking = NULL, asking_until = NULL
    WHERE tenant = %s AND principal = %s AND id = %s AND asking = %s
"""
_DROP_EMPTY = """
    DELETE FROM conversation c WHERE tenant = %s AND principal = %s AND id = %s AND asking = %s
        AND NOT EXISTS (SELECT 1 FROM turn t WHERE t.tenant = c.tenant
            AND t.principal = c.principal AND t.conversation_id = c.id)
"""
_FINISH = """
    UPDATE conversation SET asking = NULL, asking_until = NULL, updated_at = now()
    WHERE tenant = %s AND principal = %s AND id = %s AND asking = %s
"""
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
_DROP_TURN = """
    DELETE FROM turn WHERE tenant = %s AND principal = %s AND conversation_id = %s AND ordinal = %s
"""
_FORGET_SUMMARY = """
    UPDATE conversation SET summary = '', summarised = 0
    WHERE tenant = %s AND principal = %s AND id = %s AND summarised >= %s
"""
# A conversation that was named after its first question is named after the one in its place.
_RETITLE = """
    UPDATE conversation c SET title = %s
    WHERE tenant = %s AND principal = %s AND id = %s AND title = %s
        AND (SELECT count(*) FROM turn t WHERE t.tenant = c.tenant AND t.principal = c.principal
            AND t.conversation_id = c.id) = 1
"""
# What a summary is of must still be there: its last turn may have been replaced meanwhile.
_SUMMARISE = """
    UPDATE conversation c SET summary = %s, summarised = %s
    WHERE tenant = %s AND principal = %s AND id = %s AND summarised = %s
        AND EXISTS (SELECT 1 FROM turn t WHERE t.tenant = c.tenant AND t.principal = c.principal
            AND t.conversation_id = c.id AND t.ordinal = %s)
"""
_RENAME = "UPDATE conversation SET title = %s WHERE tenant = %s AND principal = %s AND id = %s"
_DELETE = "DELETE FROM conversation WHERE tenant = %s AND principal = %s AND id = %s"
_DELETE_ALL = "DELETE FROM conversation WHERE tenant = %s AND principal = %s"


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


@dataclass(frozen=True, slots=True)
class UsedPassage:
    """A passage that was shown for a turn: the part `start:end` of a document's text."""

    chunk: int
    document: int
    version: int
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class StoredTurn:
    """A question as it was asked and as it was searched for, with everything of its answer.

    `used` are the passages first shown for this turn; as sources they were numbered from
    `first_source`. `cited` are the chunks that its citations are of. `trace` says how the query
    was made and how much of the history was shown.
    `ordinal` counts from 1, and is left out where a turn took another's place; it and `created_at`
    are given by the database.
    """

    question: str
    query: str
    answer: str
    refused: bool
    reason: str
    citations: tuple[Citation, ...] = ()
    claims: tuple[Claim, ...] = ()
    unverified: tuple[str, ...] = ()
    used: tuple[UsedPassage, ...] = ()
    first_source: int = 1
    cited: tuple[int, ...] = ()
    trace: Mapping[str, str] = field(default_factory=dict)
    timings: Mapping[str, float] = field(default_factory=dict)
    ordinal: int = 0
    created_at: datetime | None = None


class Conversations:
    """One principal's conversations; methods raise DatabaseError, NotFoundError for no such one.

    An answer that was given stays; citations of documents that the `readers` may not read, or no
    longer, are left out of it. None: an operator, who may read all.
    """

    def __init__(
        self,
        pool: ConnectionPool[Connection[Any]],
        tenant: str,
        principal: str,
        readers: Readers = None,
    ) -> None:
        self._pool = pool
        self._owner = (tenant, principal)
        self._readers = listed(readers)

    def all(self) -> Sequence[StoredConversation]:
        """List those that have turns, the latest first."""
        with transaction(self._pool, self._owner[0]) as cursor:
            return [StoredConversation(*row) for row in cursor.execute(_LIST, self._owner)]

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
        seen = None if collections is None else list(collections)
        time, id = after or (None, None)
        part = storable(search.strip())
        values = (*self._owner, seen, seen, time, time, id, part, part, *self._owner, part, limit)
        with transaction(self._pool, self._owner[0]) as cursor:
            return [StoredConversation(*row) for row in cursor.execute(_PAGE, values)]

    def find(self, text: str) -> UUID:
        """Find the id that a text is or begins. Raises UsageError when it begins two."""
        start = text.strip().casefold()
        if not re.fullmatch(rf"[0-9a-f-]{{{MIN_PREFIX},36}}", start):
            raise missing(text)
        with transaction(self._pool, self._owner[0]) as cursor:
            rows = cursor.execute(_IDS, (*self._owner, start + "%")).fetchall()
        if len(rows) > 1:
            raise UsageError(f"more than one conversation begins with {start!r}: write more of it")
        if not rows:
            raise missing(text)
        return cast("UUID", rows[0][0])

    def get(self, number: UUID) -> StoredConversation:
        """Look one up."""
        with transaction(self._pool, self._owner[0]) as cursor:
            row = cursor.execute(_ONE, (*self._owner, number)).fetchone()
        if row is None:
            raise missing(str(number))
        return StoredConversation(*row)

    def turns(self, number: UUID) -> Sequence[StoredTurn]:
        """List a conversation's turns in their order; none for one that is not there."""
        with transaction(self._pool, self._owner[0]) as cursor:
            values = (self._readers, *self._owner, number)
            return [_turn(row) for row in cursor.execute(_TURNS, values)]

    def begin(self, number: UUID, token: UUID, *, new: tuple[str, str] | None = None) -> None:
        """Take a conversation for one question; `new` creates it, with its collection and title.

        Raises BusyError while another question to it is being answered.
        """
        key = (*self._owner, number)
        with transaction(self._pool, self._owner[0]) as cursor:
            if new is not None:
                cursor.execute(_CREATE, (*key, storable(new[0]), storable(new[1])))
            if cursor.execute(_TAKE, (token, LEASE_S, *key)).rowcount == 1:
                return
            row = cursor.execute(_LEFT, key).fetchone()
        if row is None:
            raise missing(str(number))
        raise BusyError(
            f"conversation {number} is answering another question: wait for that one (if its"
            f" program has died, {max(row[0] or 1, 1)} s), or begin a new conversation"
        )

    def renew(self, number: UUID, token: UUID) -> None:
        """Put off the time at which others may take the conversation."""
        with transaction(self._pool, self._owner[0]) as cursor:
            cursor.execute(_RENEW, (LEASE_S, *self._owner, number, token))

    def abandon(self, number: UUID, token: UUID) -> None:
        """Give a conversation back without a turn; one that has none at all is deleted."""
        key = (*self._owner, number, token)
        with transaction(self._pool, self._owner[0]) as cursor:
            cursor.execute(_DROP_EMPTY, key)
            cursor.execute(_GIVE_BACK, key)

    def finish(
        self, number: UUID, token: UUID, turn: StoredTurn, *, replaces: StoredTurn | None = None
    ) -> tuple[int, datetime]:
        """Write a turn and give the conversation back; return the turn's ordinal and time.

        `replaces`, the last turn, goes at the same moment, with a summary that covers it. The new
        one has an ordinal of its own: a rating names the old one, and must not become its.
        Raises NotFoundError when the conversation was deleted meanwhile, or taken by another.
        """
        tenant, principal = self._owner
        values = _values(turn) | {"tenant": tenant, "principal": principal, "id": number}
        with transaction(self._pool, self._owner[0]) as cursor:
            if cursor.execute(_FINISH, (*self._owner, number, token)).rowcount != 1:
                raise NotFoundError(
                    f"the answer was not kept: conversation {number} was deleted, or asked another"
                    " question, before it was complete"
                )
            row = cursor.execute(_ADD_TURN, values).fetchone()
            assert row is not None
            if replaces is not None:
                key = (*self._owner, number)
                gone = cursor.execute(_DROP_TURN, (*key, replaces.ordinal)).rowcount
                assert gone == 1, "nobody else takes turns away while it is taken"
                cursor.execute(_FORGET_SUMMARY, (*key, replaces.ordinal))
                titles = title_of(turn.question), title_of(replaces.question)
                cursor.execute(_RETITLE, (titles[0], *key, titles[1]))
            return row[0], row[1]

    def summarise(self, number: UUID, summary: str, *, old: int, new: int) -> bool:
        """Keep a summary of the turns up to `new`, unless that up to `old` is no longer there.

        It is not kept either when the turn `new` has been replaced.
        """
        values = (storable(summary), new, *self._owner, number, old, new)
        with transaction(self._pool, self._owner[0]) as cursor:
            return cursor.execute(_SUMMARISE, values).rowcount == 1

    def rename(self, number: UUID, title: str) -> None:
        """Give a conversation another title, white space made single; its place stays as it is.

        Raises UsageError for a title that says nothing, or too much.
        """
        title = storable(" ".join(title.split()))
        if not 0 < len(title) <= MAX_TITLE_CHARS:
            raise UsageError(
                f"a title has 1 to {MAX_TITLE_CHARS} characters, this one {len(title)}"
            )
        with transaction(self._pool, self._owner[0]) as cursor:
            if cursor.execute(_RENAME, (title, *self._owner, number)).rowcount != 1:
                raise missing(str(number))

    def delete(self, number: UUID) -> None:
        """Delete a conversation with all its turns and its summary."""
        with transaction(self._pool, self._owner[0]) as cursor:
            if cursor.execute(_DELETE, (*self._owner, number)).rowcount != 1:
                raise missing(str(number))

    def delete_all(self) -> int:
        """Delete every conversation of the principal; return how many there were."""
        with transaction(self._pool, self._owner[0]) as cursor:
            return cursor.execute(_DELETE_ALL, self._owner).rowcount


def missing(text: str) -> NotFoundError:
    """Say that there is no such conversation, the same for one that is somebody else's."""
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
    words, _, rest = cut.rpartition(" ")
    return f"{(words if words and len(rest) < TITLE_CHARS // 2 else cut).rstrip()}…"


def storable(text: str) -> str:
    """Replace what PostgreSQL keeps in no text, character for character: NUL, lone surrogates."""
    return text.replace("\0", "\ufffd").encode("utf-8", "replace").decode("utf-8")


def _values(turn: StoredTurn) -> dict[str, object]:
    return {
        "question": storable(turn.question),
        "query": storable(turn.query),
        "answer": storable(turn.answer),
        "refused": turn.refused,
        "reason": storable(turn.reason),
        "citations": Jsonb([asdict(citation) for citation in turn.citations]),
        "claims": Jsonb(
            [asdict(claim) | {"reason": storable(claim.reason)} for claim in turn.claims]
        ),
        "unverified": [storable(piece) for piece in turn.unverified],
        "used": Jsonb([asdict(passage) for passage in turn.used]),
        "first_source": turn.first_source,
        "cited": list(turn.cited),
        "trace": Jsonb({name: storable(said) for name, said in turn.trace.items()}),
        "timings": Jsonb(dict(turn.timings)),
    }


def _turn(row: Sequence[Any]) -> StoredTurn:
    ordinal, question, query, answer, refused, reason, citations, claims, unverified = row[:9]
    used, first_source, cited, trace, timings, created_at, hidden = row[9:]
    return StoredTurn(
        question=question,
        query=query,
        answer=answer,
        refused=refused,
        reason=reason,
        citations=kept_citations(citations, hidden),
        claims=tuple(Claim(**{**one, "cites": tuple(one["cites"])}) for one in claims),
        unverified=tuple(unverified),
        used=tuple(UsedPassage(**one) for one in used),
        first_source=first_source,
        cited=tuple(cited),
        trace=trace,
        timings=timings,
        ordinal=ordinal,
        created_at=created_at,
    )
