"""Who owns a collection or a document, and who may read it: looked up and changed.

Readers are principals, "user:ada" or "group:hr"; None is the whole tenant. Who may change sharing
is decided in `ragkit.access.library`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, LiteralString

from ragkit.errors import NotFoundError, UsageError
from ragkit.store.connection.transactions import lent
from ragkit.store.session import TenantSessions
from ragkit.store.words import postings, segment_rows

if TYPE_CHECKING:
    from ragkit.store.session import Session

MAX_READERS: Final = 1000  # arbitrary: more people than that are a group
MAX_CHARS: Final = 210  # "group:" and a name of as many characters as a key's may have
_PRINCIPAL: Final = re.compile(r"(user|group):\S.*")

_COLLECTION: Final[LiteralString] = """
    SELECT owner, readers, id FROM visible_collection
    WHERE tenant = %(tenant)s AND name = %(name)s AND versions_of IS NULL FOR UPDATE
"""
# The collection's row is locked first, as by all who write documents.
_DOCUMENT: Final[LiteralString] = """
    SELECT d.owner, d.readers, c.id FROM visible_document d
    JOIN collection c ON c.tenant = d.tenant AND c.id = d.collection_id
    WHERE d.tenant = %(tenant)s AND d.id = %(document)s AND d.version_of IS NULL
    FOR KEY SHARE OF c FOR UPDATE OF d
"""
# Who may read a collection or a document may read its old versions, and nobody else.
_SET_COLLECTION: Final[LiteralString] = """
    UPDATE collection SET owner = %(owner)s, readers = %(new_readers)s
    WHERE tenant = %(tenant)s AND (id = %(collection)s OR versions_of = %(collection)s)
"""
_SET_DOCUMENT: Final[LiteralString] = """
    UPDATE document SET owner = %(owner)s, readers = %(new_readers)s
    WHERE tenant = %(tenant)s AND (id = %(document)s OR version_of = %(document)s)
        AND (owner, readers) IS DISTINCT FROM (%(owner)s::text, %(new_readers)s::text[])
"""
_FIND_NEW: Final = "SELECT id FROM collection WHERE tenant = %(tenant)s AND name = %(name)s"
_COLLECTIONS: Final = """
    SELECT name, owner, readers FROM visible_collection
    WHERE tenant = %(tenant)s AND versions_of IS NULL
        AND (owner IS NOT NULL OR readers IS NOT NULL)
"""
_DOCUMENTS: Final = """
    SELECT d.id, d.owner, d.readers FROM visible_document d
    JOIN collection c ON c.tenant = d.tenant AND c.id = d.collection_id
    WHERE d.tenant = %(tenant)s AND c.name = %(name)s
        AND (d.owner IS NOT NULL OR d.readers IS NOT NULL)
"""


@dataclass(frozen=True, slots=True)
class Sharing:
    """Who owns something, if anybody, and who may read it besides; None: the whole tenant."""

    owner: str | None = None
    readers: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class Change:
    """A change of owner and readers; what it does not name stays.

    `readers` replaces the present ones, before `add` and `remove`; None as its value is the whole
    tenant. `owner` "" is nobody.
    """

    add: tuple[str, ...] = ()
    remove: tuple[str, ...] = ()
    readers: tuple[str, ...] | str | None = "as they are"
    owner: str | None = None

    def of(self, present: Sharing) -> Sharing:
        """Apply the change. Raises UsageError for a text that is no principal.

        Also where a reader is to be removed from what the whole tenant may read.
        """
        readers = present.readers if isinstance(self.readers, str) else self.readers
        principals = [*(readers or ()), *self.add, *([self.owner] if self.owner else [])]
        for principal in [*principals, *self.remove]:
            check_principal(principal)
        if self.remove and readers is None:
            raise UsageError(
                "the whole tenant may read it, so nobody can be taken out: name those who may"
                " read it first"
            )
        if self.add or readers is not None:
            readers = tuple(sorted({*(readers or ()), *self.add} - set(self.remove)))
        if readers is not None and len(readers) > MAX_READERS:
            raise UsageError(f"{len(readers)} readers are too many: make a group of them")
        owner = present.owner if self.owner is None else self.owner or None
        return Sharing(owner, readers)


class Shares(TenantSessions):
    """The sharing of one tenant's collections and documents, for these readers."""

    def collection(self, name: str, change: Change | None = None) -> Sharing:
        """Return a collection's sharing, changed if so requested.

        Raises NotFoundError, UsageError.
        """
        with self._session() as session:
            row = session.row(_COLLECTION, {"name": name})
            if row is None:
                raise NotFoundError(f"There is no collection {name!r}.")
            present = _sharing(*row[:2])
            if change is None:
                return present
            changed = change.of(present)
            set_collection(session, int(row[2]), changed)
            return changed

    def document(self, document: int, change: Change | None = None) -> Sharing:
        """Return a document's sharing, changed if so requested.

        Raises NotFoundError, UsageError.
        """
        with self._session() as session:
            row = session.row(_DOCUMENT, {"document": document})
            if row is None:
                raise NotFoundError(f"There is no document {document}.")
            present, collection = _sharing(*row[:2]), int(row[2])
            if change is None:
                return present
            changed = change.of(present)
            set_document(session, collection, document, changed.owner, changed.readers)
            is_merge_due = postings.has_many_empty(session, collection)
        if is_merge_due:  # each change leaves an empty segment
            with lent(self._pool) as conn:
                postings.merge(conn, self._tenant, collection, wait=False)
        return changed

    def collections(self) -> dict[str, Sharing]:
        """Map the collections that have an owner or readers to them."""
        with self._session() as session:
            rows = session.execute(_COLLECTIONS)
            return {str(name): _sharing(owner, readers) for name, owner, readers in rows}

    def documents(self, collection: str) -> dict[int, Sharing]:
        """Map those documents of a collection that have an owner or readers to them."""
        with self._session() as session:
            rows = session.execute(_DOCUMENTS, {"name": collection})
            return {int(id): _sharing(owner, readers) for id, owner, readers in rows}


def set_collection(session: Session, collection: int, sharing: Sharing) -> None:
    """Give a locked collection an owner and readers, and its old versions the same."""
    readers = None if sharing.readers is None else list(sharing.readers)
    values = {"collection": collection, "owner": sharing.owner, "new_readers": readers}
    session.execute(_SET_COLLECTION, values)


def set_document(
    session: Session,
    collection: int,
    document: int,
    owner: str | None,
    readers: Sequence[str] | None,
) -> None:
    """Give a locked document an owner and readers, and its old versions the same.

    A change leaves an empty segment, as a deletion does: which chunks are hidden from readers is
    cached under the numbers of the collection's segments.
    """
    listed = None if readers is None else list(readers)
    values = {"document": document, "owner": owner, "new_readers": listed}
    if session.execute(_SET_DOCUMENT, values).rowcount:
        segment_rows.add_empty(session, collection)


def check_principal(text: str) -> None:
    """Raise UsageError for a text that is no principal: user:NAME or group:NAME."""
    if not _PRINCIPAL.fullmatch(text) or len(text) > MAX_CHARS or not text.isprintable():
        raise UsageError(f"{text[:60]!r} is no principal: write user:NAME or group:NAME")


def principals(name: str, groups: Sequence[str] = ()) -> tuple[str, ...]:
    """Return a person's principals: the own name, and those of the groups.

    >>> principals("ada", ["hr"])
    ('user:ada', 'group:hr')
    """
    return (f"user:{name}", *(f"group:{group}" for group in groups))


def _sharing(owner: str | None, readers: Sequence[str] | None) -> Sharing:
    return Sharing(owner, None if readers is None else tuple(readers))


def set_new(session: Session, name: str, sharing: Sharing) -> None:
    """Give a collection that was just made an owner and readers. Raises UsageError."""
    changed = Change(readers=sharing.readers, owner=sharing.owner).of(Sharing())
    collection = session.value(_FIND_NEW, {"name": name})
    set_collection(session, int(collection), changed)
