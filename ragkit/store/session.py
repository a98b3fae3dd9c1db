"""Sessions: one unit of work in the database each, a transaction of one tenant for its readers.

Every statement of the store runs in one. A session tells the database its tenant and readers, by
which row-level security and the views of schema.sql show rows; and it gives both to each statement
as the parameters `tenant` and `readers`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from psycopg import sql

from ragkit.store.connection.identity import Beginning, readers_array
from ragkit.store.connection.transactions import begun, lend_begun

if TYPE_CHECKING:
    from psycopg import Connection, Cursor
    from psycopg.abc import QueryNoTemplate
    from psycopg_pool import ConnectionPool

    from ragkit.store.documents.filter_sql import Readers

    Pool = ConnectionPool[Connection[Any]]


@dataclass(frozen=True, slots=True)
class Session:
    """A cursor in a transaction of a tenant; `readers` are the principals that it reads for.

    None: an operator, who may read everything. A session is made by `open_session`, `begin_on`
    or `session_on`, which set the same in the database.
    """

    cursor: Cursor[Any]
    tenant: str
    readers: Readers = None

    def execute(
        self,
        statement: QueryNoTemplate,
        values: Mapping[str, object] | None = None,
        *,
        prepare: bool | None = None,
        binary: bool | None = None,
    ) -> Cursor[Any]:
        """Execute a statement with named parameters, `tenant` and `readers` among them."""
        named = self._named(values)
        return self.cursor.execute(statement, named, prepare=prepare, binary=binary)

    def execute_many(
        self,
        statement: QueryNoTemplate,
        rows: Iterable[Mapping[str, object]],
        *,
        returning: bool = False,
    ) -> None:
        """Execute a statement for each of several rows of parameters."""
        self.cursor.executemany(statement, map(self._named, rows), returning=returning)

    def row(
        self, statement: QueryNoTemplate, values: Mapping[str, object] | None = None
    ) -> tuple[Any, ...] | None:
        """Return a statement's first row, if it has one."""
        return self.execute(statement, values).fetchone()

    def value(self, statement: QueryNoTemplate, values: Mapping[str, object] | None = None) -> Any:
        """Return the first value of the first row of a statement that always has one."""
        row = self.row(statement, values)
        assert row is not None, "the statement always has a row"
        return row[0]

    def _named(self, values: Mapping[str, object] | None) -> dict[str, object]:
        readers = None if self.readers is None else list(self.readers)
        return {"tenant": self.tenant, "readers": readers, **(values or {})}


@contextmanager
def open_session(
    pool: Pool,
    tenant: str,
    readers: Readers = None,
    *,
    snapshot: bool = False,
    durable: bool = True,
) -> Iterator[Session]:
    """Open a session, committed at the end, or else rolled back. Raises DatabaseError.

    With `snapshot` all its statements see one moment, and it writes nothing. Unless `durable`, a
    commit returns before it is on disk.
    """
    beginning = Beginning(tenant, readers, snapshot, durable)
    with lend_begun(pool, beginning) as conn, conn.cursor() as cursor:
        yield Session(cursor, tenant, readers)


@contextmanager
def begin_on(conn: Connection[Any], tenant: str, readers: Readers = None) -> Iterator[Session]:
    """Begin a session on the caller's own connection, in autocommit mode. Errors are psycopg's."""
    with begun(conn, tenant, readers) as cursor:
        yield Session(cursor, tenant, readers)


def session_on(cursor: Cursor[Any], tenant: str, readers: Readers = None) -> Session:
    """Make a session of a transaction that has begun, for a tenant and readers."""
    # SET, not set_config(), which does not reach the nodes of a cluster.
    for name, value in (("tenant", tenant), ("readers", readers_array(readers))):
        setting = sql.SQL("SET LOCAL {} = {}").format(sql.SQL(f"ragkit.{name}"), sql.Literal(value))
        cursor.execute(setting)
    return Session(cursor, tenant, readers)


class TenantSessions:
    """Opens sessions of one tenant for its readers; None: an operator, who may read everything.

    The base of the classes that look up or change one tenant's data.
    """

    def __init__(self, pool: Pool, tenant: str, readers: Readers = None) -> None:
        self._pool = pool
        self._tenant = tenant
        self._readers = readers

    def _session(self) -> AbstractContextManager[Session]:
        """Open a session that may write."""
        return open_session(self._pool, self._tenant, self._readers)

    def _snapshot(self) -> AbstractContextManager[Session]:
        """Open a session whose statements see one moment."""
        return open_session(self._pool, self._tenant, self._readers, snapshot=True)

    @contextmanager
    def _in_collection(self, name: str, *, lock: bool = False) -> Iterator[tuple[Session, int]]:
        """Open a session and look a collection up in it; see `documents.collection_id`."""
        from ragkit.store.documents.documents import collection_id

        with self._session() as session:
            yield session, collection_id(session, name, lock=lock)
