"""Who owns a collection or a document, and who may read it: looked up and changed.

Readers are principals, "user:ada" or "group:hr"; None is the whole tenant. It knows nothing of who
may change what: see `ragkit.library`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, LiteralString

from ragkit.errors import NotFoundError, UsageError
from ragkit.store import postings
from ragkit.store.lending import lent, transaction
from ragkit.store.where import Readers

if TYPE_CHECKING:
    from psycopg import Connection, Cursor
    from psycopg_pool import ConnectionPool

MAX_READERS: Final = 1000  # arbitrary: more people than that are a group
MAX_CHARS: Final = 210  # "group:" and a name of as many characters as a key's may have
_PRINCIPAL: Final = re.compile(r"(user|group):\S.*")

_COLLECTION: Final[LiteralString] = """
    SELECT owner, readers, id FROM collection c WHERE tenant = %(tenant)s AND name = %(name)s
        AND versions_of IS NULL AND may_read(owner, readers, %(asking)s::text[]) FOR UPDATE
"""
# The collection's row is locked first, as by all who write documents: migration 0015 needs it too.
_DOCUMENT: Final[LiteralString] = """
    SELECT d.owner, d.readers, c.id FROM document d
    JOIN collection c ON c.tenant = d.tenant AND c.id = d.collection_id
    WHERE d.tenant = %(tenant)s AND d.id = %(id)s AND d.version_of IS NULL
        AND may_read(c.owner, c.readers, %(asking)s::text[])
        AND may_read(d.owner, d.readers, %(asking)s::text[]) FOR KEY SHARE OF c FOR UPDATE OF d
"""
_SET_COLLECTION: Final[LiteralString] = """
    UPDATE collection SET owner = %(owner)s, readers = %(readers)s
    WHERE tenant = %(tenant)s AND name = %(name)s
"""
_SET_DOCUMENT: Final[LiteralString] = """
    UPDATE document SET owner = %(owner)s, readers = %(readers)s
    WHERE tenant = %(tenant)s AND id = %(id)s
"""


_COLLECTIONS: Final = """
    SELECT name, owner, readers FROM collection c WHERE tenant = %(tenant)s AND versions_of IS NULL
        AND (owner IS NOT NULL OR readers IS NOT NULL)
        AND may_read(owner, readers, %(asking)s::text[])
"""
_DOCUMENTS: Final = """
    SELECT d.id, d.owner, d.readers FROM document d
    JOIN collection c ON c.tenant = d.tenant AND c.id = d.collection_id
    WHERE d.tenant = %(tenant)s AND c.name = %(name)s
        AND (d.owner IS NOT NULL OR d.readers IS NOT NULL)
        AND may_read(c.owner, c.readers, %(asking)s::text[])
        AND may_read(d.owner, d.readers, %(asking)s::text[])
"""


@dataclass(frozen=True, slots=True)
class Sharing:
    """Who owns something, if anybody, and who may read it besides; None: the whole tenant."""

    owner: str | None = None
    readers: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class Change:
    """What is to become of a sharing; what is not named stays.

    `readers` takes the place of those there are, before `add` and `remove`; None as its value is
    the whole tenant. `owner` "" is nobody.
    """

    add: tuple[str, ...] = ()
    remove: tuple[str, ...] = ()
    readers: tuple[str, ...] | str | None = "as they are"
    owner: str | None = None

    def of(self, old: Sharing) -> Sharing:
        """Apply it. Raises UsageError for what is no principal, or is taken from nobody."""
        kept = old.readers if isinstance(self.readers, str) else self.readers
        given = [*(kept or ()), *self.add, *([self.owner] if self.owner else [])]
        for principal in [*given, *self.remove]:
            check_principal(principal)
        if self.remove and kept is None:
            raise UsageError(
                "the whole tenant may read it, so nobody can be taken out: name those who may"
                " read it first"
            )
        if self.add or kept is not None:
            left = {*(kept or ()), *self.add} - set(self.remove)
            kept = tuple(sorted(left))
        if kept is not None and len(kept) > MAX_READERS:
            raise UsageError(f"{len(kept)} readers are too many: make a group of them")
        owner = old.owner if self.owner is None else self.owner or None
        return Sharing(owner, kept)


class Shares:
    """The sharing of one tenant's collections and documents.

    `readers` are the principals who ask: what they may not read is not there. None: an operator.
    """

    def __init__(
        self, pool: ConnectionPool[Connection[Any]], tenant: str, readers: Readers = None
    ) -> None:
        self._pool = pool
        self._tenant = tenant
        self._readers = None if readers is None else list(readers)

    def collection(self, name: str, change: Change | None = None) -> Sharing:
        """Return a collection's sharing, changed if so wanted. Raises NotFoundError, UsageError."""
        found = self._change(_COLLECTION, _SET_COLLECTION, {"name": name}, change)
        if found is None:
            raise NotFoundError(f"There is no collection {name!r}.")
        return found

    def document(self, document: int, change: Change | None = None) -> Sharing:
        """Return a document's sharing, changed if so wanted. Raises NotFoundError, UsageError."""
        found = self._change(_DOCUMENT, _SET_DOCUMENT, {"id": document}, change)
        if found is None:
            raise NotFoundError(f"There is no document {document}.")
        return found

    def collections(self) -> dict[str, Sharing]:
        """Map the collections that have an owner or readers to them."""
        with transaction(self._pool, self._tenant) as cursor:
            rows = cursor.execute(_COLLECTIONS, {"tenant": self._tenant, "asking": self._readers})
            return {str(name): _sharing(owner, readers) for name, owner, readers in rows}

    def documents(self, collection: str) -> dict[int, Sharing]:
        """Map those documents of a collection that have an owner or readers to them."""
        values = {"tenant": self._tenant, "asking": self._readers, "name": collection}
        with transaction(self._pool, self._tenant) as cursor:
            rows = cursor.execute(_DOCUMENTS, values)
            return {int(id): _sharing(owner, readers) for id, owner, readers in rows}

    def _change(
        self, find: LiteralString, set: LiteralString, which: dict[str, Any], change: Change | None
    ) -> Sharing | None:
        values = {"tenant": self._tenant, "asking": self._readers, **which}
        with transaction(self._pool, self._tenant) as cursor:
            row = cursor.execute(find, values).fetchone()
            if row is None:
                return None
            owner, readers, collection = row
            found = _sharing(owner, readers)
            if change is None:
                return found
            made = change.of(found)
            kept = None if made.readers is None else list(made.readers)
            cursor.execute(set, values | {"owner": made.owner, "readers": kept})
            tidy = postings.has_many_empty(cursor, self._tenant, collection)
        if tidy:  # of what such changes have left
            with lent(self._pool) as conn:
                postings.merge(conn, self._tenant, collection, wait=False)
        return made


def check_principal(text: str) -> None:
    """Raise UsageError for what names nobody: a principal is user:NAME or group:NAME."""
    if not _PRINCIPAL.fullmatch(text) or len(text) > MAX_CHARS or not text.isprintable():
        raise UsageError(f"{text[:60]!r} is no principal: write user:NAME or group:NAME")


def principals(name: str, groups: Sequence[str] = ()) -> tuple[str, ...]:
    """Return what somebody goes by: his own name, and those of his groups.

    >>> principals("ada", ["hr"])
    ('user:ada', 'group:hr')
    """
    return (f"user:{name}", *(f"group:{group}" for group in groups))


def _sharing(owner: str | None, readers: Sequence[str] | None) -> Sharing:
    return Sharing(owner, None if readers is None else tuple(readers))


def own(cursor: Cursor[Any], tenant: str, name: str, sharing: Sharing) -> None:
    """Give a collection that was just made an owner and readers. Raises UsageError."""
    made = Change(readers=sharing.readers, owner=sharing.owner).of(Sharing())
    kept = None if made.readers is None else list(made.readers)
    values = {"tenant": tenant, "name": name, "owner": made.owner, "readers": kept}
    cursor.execute(_SET_COLLECTION, values)
