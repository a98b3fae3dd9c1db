"""Open the database that the settings name, embedded or by URL, checked and migrated."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import psycopg

from ragkit.errors import DatabaseError, MigrationError, UsageError
from ragkit.store.connection.transactions import translate
from ragkit.store.documents.filter_sql import Readers
from ragkit.store.postgres import PostgresStore
from ragkit.store.vectors import Layout
from ragkit.system.closing import Closing
from ragkit.text.analyse import ANALYSER
from ragkit.text.analysers import analyser_name

if TYPE_CHECKING:
    from psycopg import Connection
    from psycopg_pool import ConnectionPool

    from ragkit.settings.settings import Settings
    from ragkit.store.connection.replica import Replica
    from ragkit.store.server.embedded import EmbeddedServer


class Database(Closing):
    """An open pool and, where the database is embedded, this process's share of its server."""

    def __init__(
        self,
        pool: ConnectionPool[Connection[Any]],
        server: EmbeddedServer | None = None,
        *,
        owner_url: str | None = None,
        analyser: str = ANALYSER,
        layout: Layout | None = None,
        keep_versions: int = 0,
        replica: Replica | None = None,
    ) -> None:
        self._keep_versions = keep_versions
        self._replica = replica
        self._analyser = analyser
        self._layout = layout
        self.pool = pool
        self._server = server
        self._owner_url = owner_url

    def store(self, tenant: str, *, durable: bool = True, readers: Readers = None) -> PostgresStore:
        return PostgresStore(
            self.pool,
            tenant=tenant,
            durable=durable,
            owner=self.owner,
            readers=readers,
            analyser=self._analyser,
            layout=self._layout,
            keep_versions=self._keep_versions,
            replica=self._replica,
        )

    @contextmanager
    def owner(self) -> Iterator[Connection[Any]]:
        """Open a connection as the owner of the tables, who sees all tenants; in autocommit mode.

        For tables and indexes, and for what an operator does to all tenants. Raises DatabaseError.
        """
        from ragkit.store.connection.connect import connect

        if self._owner_url is None:
            raise DatabaseError(
                "This needs the owner of the database's tables, on the server itself: set"
                " RAGKIT_DATABASE_OWNER_URL to that role's address there."
            )
        if self._server is not None:
            self._server.recover()
        try:
            with connect(self._owner_url) as conn:
                conn.execute("SET ragkit.all_tenants = 'on'")
                yield conn
        except psycopg.Error as error:
            raise translate(error) from error

    def close(self) -> None:
        """Close the pools, then leave the embedded server, which stops when no one else uses it."""
        try:
            if self._replica is not None:
                self._replica.close()
            self.pool.close()
        finally:
            if self._server is not None:
                self._server.close()


def open_database(settings: Settings) -> Database:
    """Start or reach the database, bring its schema up to date, and return it open.

    While tenants are on, the connections are a role's that row-level security binds. Raises
    DatabaseError or MigrationError, one line each with the remedy.
    """
    from ragkit.store.connection.connect import open_pool
    from ragkit.store.connection.identity import act_for

    server: EmbeddedServer | None = None
    owner_url: str | None
    try:
        if settings.database_url is None:
            from ragkit.store.server.embedded import EmbeddedServer

            server = EmbeddedServer.open(settings.home)
            url, owner_url = _embedded(settings, server.url), server.url
            pool = open_pool(url, kind=server.connection_class())
        else:
            url, owner_url = _by_url(settings)
            pool = open_pool(url, pooler=settings.database_pooler == "transaction")
        act_for(settings.tenant, settings.principal)
        words = analyser_name(settings.stem, settings.cjk)
        layout = Layout(settings.vector_type, index=settings.vector_index)
        return Database(
            pool,
            server,
            owner_url=owner_url,
            analyser=words,
            layout=layout,
            keep_versions=settings.keep_versions,
            replica=_replica(settings, pool),
        )
    except BaseException:
        if server is not None:
            server.close()
        raise


def prepare_database(settings: Settings, *, citus: bool = False) -> list[str]:
    """Make a database ready as the owner of its tables; say what was done.

    The schema is brought up to date, and the role that programs run as gets its rights: on a server
    the one that database_url names. While tenants are on, row-level security is put in force.
    Raises UsageError where the settings name no owner, DatabaseError, MigrationError.
    """
    from psycopg.conninfo import conninfo_to_dict

    from ragkit.store.connection import roles
    from ragkit.store.connection.citus import distribute, is_distributed
    from ragkit.store.connection.connect import check_fit, connect
    from ragkit.store.connection.migrate import migrate

    if settings.database_url is None and citus:
        raise UsageError("Citus is for a server: set RAGKIT_DATABASE_URL to its coordinator.")
    if settings.database_url is None:
        with open_database(settings) as database, database.pool.connection() as conn:
            return [f"the embedded database is up to date, and used as the role {conn.info.user}"]
    if settings.database_owner_url is None:
        raise UsageError(
            "Only the owner of the tables can prepare the database: set RAGKIT_DATABASE_OWNER_URL"
            " to that role's address."
        )
    given = conninfo_to_dict(settings.database_url.get_secret_value())
    role, password = given.get("user"), given.get("password")
    if not role:
        raise UsageError("RAGKIT_DATABASE_URL names no user: name the role that programs run as.")
    with connect(settings.database_owner_url.get_secret_value()) as conn:
        check_fit(conn)
        if conn.info.user == role:
            raise UsageError(
                f"RAGKIT_DATABASE_URL and RAGKIT_DATABASE_OWNER_URL both name the role {role!r}:"
                " programs run as one that owns no tables."
            )
        done = [f"applied {name}" for name in migrate(conn)] or ["the tables are up to date"]
        enforce = settings.tenants == "on"
        secret = None if password is None else str(password)
        done += roles.prepare(conn, str(role), secret, enforce=enforce)
        if citus or is_distributed(conn):
            done += distribute(conn)
        return done


def _replica(settings: Settings, pool: ConnectionPool[Connection[Any]]) -> Replica | None:
    """Open the standby that the settings name; without one, every search asks the primary."""
    from ragkit.store.connection.replica import open_replica

    if settings.database_replica_url is None:
        return None
    try:
        return open_replica(
            settings.database_replica_url.get_secret_value(),
            pool,
            pooler=settings.database_pooler == "transaction",
            tenants=settings.tenants == "on",
        )
    except BaseException:
        pool.close()
        raise


def _embedded(settings: Settings, url: str) -> str:
    """Bring the embedded database up to date; return the address to use it by."""
    from psycopg.conninfo import make_conninfo

    from ragkit.store.connection import roles
    from ragkit.store.connection.connect import check_fit, connect
    from ragkit.store.connection.migrate import migrate

    with connect(url) as conn:
        check_fit(conn)
        migrate(conn)
        if settings.tenants == "off":
            return url
        with conn.cursor() as cursor:
            ready = roles.weakness(cursor, roles.RUNTIME) is None
        if not ready:
            roles.prepare(conn, roles.RUNTIME, enforce=True)
    return make_conninfo(url, user=roles.RUNTIME)


def _by_url(settings: Settings) -> tuple[str, str | None]:
    """Bring a server's database up to date; return its address, and its owner's where known."""
    from ragkit.store.connection import roles
    from ragkit.store.connection.connect import check_fit, connect
    from ragkit.store.connection.migrate import is_current, migrate

    assert settings.database_url is not None
    url = settings.database_url.get_secret_value()
    tenants, pooler = settings.tenants == "on", settings.database_pooler == "transaction"
    owner = settings.database_owner_url
    owner_url = None if owner is None else owner.get_secret_value()
    if owner_url is None and not tenants and not pooler:
        owner_url = url
    with connect(url, pooler=pooler) as conn:
        check_fit(conn)
        if not is_current(conn):
            if owner_url is None:
                raise MigrationError(
                    "The database's tables are not this ragkit's yet, and only their owner may"
                    " change them: run `ragkit db prepare` with RAGKIT_DATABASE_OWNER_URL set."
                )
            with connect(owner_url) as direct:
                migrate(direct)
        if tenants:
            roles.check(conn)
    return url, owner_url
