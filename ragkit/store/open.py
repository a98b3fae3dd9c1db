"""Open the database that the settings name, embedded or by URL, checked and migrated."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ragkit.closing import Closing
from ragkit.store.postgres import PostgresStore

if TYPE_CHECKING:
    from psycopg import Connection
    from psycopg_pool import ConnectionPool

    from ragkit.settings import Settings
    from ragkit.store.embedded import EmbeddedServer


class Database(Closing):
    """An open pool and, where the database is embedded, this process's share of its server."""

    def __init__(
        self, pool: ConnectionPool[Connection[Any]], server: EmbeddedServer | None = None
    ) -> None:
        self.pool = pool
        self._server = server

    def store(self, tenant: str, *, durable: bool = True) -> PostgresStore:
        return PostgresStore(self.pool, tenant=tenant, durable=durable)

    def close(self) -> None:
        """Close the pool, then leave the embedded server, which stops when no one else uses it."""
        try:
            self.pool.close()
        finally:
            if self._server is not None:
                self._server.close()


def open_database(settings: Settings) -> Database:
    """Start or reach the database, bring its schema up to date, and return it open.

    Raises DatabaseError or MigrationError, one line each with the remedy.
    """
    from ragkit.store.acting import act_for
    from ragkit.store.connect import check_fit, connect, open_pool
    from ragkit.store.migrate import migrate

    server: EmbeddedServer | None = None
    if settings.database_url is None:
        from ragkit.store.embedded import EmbeddedServer

        server = EmbeddedServer.open(settings.home)
        url = server.url
    else:
        url = settings.database_url.get_secret_value()
    try:
        with connect(url) as conn:
            check_fit(conn)
            migrate(conn)
        act_for(settings.tenant, settings.principal)
        return Database(open_pool(url), server)
    except BaseException:
        if server is not None:
            server.close()
        raise
