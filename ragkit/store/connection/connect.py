"""Connections to PostgreSQL, wherever it is, and whether that server is fit for use.

Knows nothing of tables. Every failure is one line that names the server and the remedy.
"""

from __future__ import annotations

import logging
import re
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from ragkit.errors import DatabaseError
from ragkit.system.priority import gives_way, lower

if TYPE_CHECKING:
    from psycopg import Connection
    from psycopg_pool import ConnectionPool

CONNECT_TIMEOUT_S: Final = 10
POOL_TIMEOUT_S: Final = 30  # for a connection to become free
LAZY_POOL: Final = "ragkit-replica"  # whoever has it says himself what is wrong
LAZY_TIMEOUT_S: Final = 1  # for a server that can be done without
ON_REQUEST: Final = sys.maxsize  # no statement is prepared that does not ask for it
OLDEST_POSTGRES: Final = 150000
OLDEST_PGVECTOR: Final = (0, 8, 3)  # older ones can corrupt an HNSW index on vacuum

# What the URL does not say itself. A peer that vanished without a word is noticed in a minute.
_DEFAULTS: Final[dict[str, Any]] = {
    "fallback_application_name": "ragkit",
    "connect_timeout": CONNECT_TIMEOUT_S,
    "client_encoding": "UTF8",
    "keepalives_idle": 30,
    "keepalives_interval": 10,
    "keepalives_count": 3,
    "tcp_user_timeout": 60_000,
}
# Set for good, so that most searches by vectors need set nothing: they look whether it is.
_WALKING: Final = (
    "SET hnsw.iterative_scan = relaxed_order; SET hnsw.max_scan_tuples = 20000;"
    " SET hnsw.ef_search = {}"
)
# A server notices at once that a client has ended, also one whose statement waits for a lock. On
# Windows it cannot, and refuses the setting.
_NOTICE_END: Final = (
    "SELECT set_config('client_connection_check_interval', '1s', false)"
    " WHERE version() !~* 'windows|visual c'"
)
_DESCRIBE: Final = """
    SELECT current_setting('server_version'), current_setting('server_version_num')::int,
        current_setting('server_encoding'), pg_is_in_recovery(),
        (SELECT extversion FROM pg_extension WHERE extname = 'vector'),
        (SELECT default_version FROM pg_available_extensions WHERE name = 'vector'),
        (SELECT count(*) FROM pg_stat_activity
            WHERE backend_type = 'client backend' AND pid <> pg_backend_pid())
"""
_REMEDIES: Final = {
    "password|authentication failed": (
        "correct user and password in RAGKIT_DATABASE_URL, or in ~/.pgpass"
    ),
    "pg_hba.conf": "have the server's administrator let this machine and user in",
    'role ".*" does not exist': "correct the user in RAGKIT_DATABASE_URL",
    'database ".*" does not exist': "make it with createdb, or correct RAGKIT_DATABASE_URL",
    "too many|remaining connection slots": "close other connections, or raise max_connections",
    "resolve|host name": "correct the host in RAGKIT_DATABASE_URL",
    "SSL": "correct sslmode in RAGKIT_DATABASE_URL",
}


@dataclass(frozen=True, slots=True)
class ServerFacts:
    """What a server says of itself; `connections` counts the others that this role may see."""

    postgres: str
    version_number: int
    encoding: str
    standby: bool
    pgvector: str | None
    pgvector_available: str | None
    connections: int


def connect(url: str, *, pooler: bool = False) -> Connection[Any]:
    """Open one connection, in autocommit mode: a transaction is always begun explicitly.

    A statement is prepared only where it asks for it: its plan outlives a change of the settings
    that it was made by. `pooler`: PgBouncer in transaction mode stands between, through which none
    is. Raises DatabaseError.
    """
    import psycopg

    conninfo = _conninfo(url)
    try:
        conn = _kind(pooler).connect(conninfo, **_options(pooler))
        _configure(conn)
    except psycopg.Error as error:
        raise _unreachable(conninfo, error) from error
    return conn


def open_pool(
    url: str,
    *,
    max_size: int = 8,
    pooler: bool = False,
    kind: type[Connection[Any]] | None = None,
) -> ConnectionPool[Connection[Any]]:
    """Open a pool of connections like `connect`'s, at most `max_size` of them.

    A connection is tried before it is lent, so that a restarted server costs no failure. `kind` is
    the class of the connections, where it is not the usual one. Raises DatabaseError at once when
    the server cannot be reached.
    """
    connect(url, pooler=pooler).close()  # the pool would retry in silence, and then not say why
    return _pool(
        url,
        pooler,
        connection_class=kind or _kind(pooler),
        min_size=1,
        max_size=max_size,
        timeout=POOL_TIMEOUT_S,
        configure=_configure,
        name="ragkit",
    )


def try_out(conn: Connection[Any]) -> None:
    """Try a connection before a pool lends it, by the transaction that it is wanted for if any."""
    from ragkit.store.connection.identity import begin_wanted

    if not begin_wanted(conn):
        conn.execute("")


def open_lazy_pool(
    url: str, check: Callable[[Connection[Any]], None], *, max_size: int, pooler: bool = False
) -> ConnectionPool[Connection[Any]]:
    """Open a pool like `open_pool`'s of a server that may be down, and is not waited for.

    `check` is called with each new connection; one that it raises an error for is not used.
    """

    def configure(conn: Connection[Any]) -> None:
        _configure(conn)
        check(conn)

    logging.getLogger("psycopg.pool").addFilter(_is_news)

    return _pool(
        url,
        pooler,
        connection_class=_kind(pooler),
        min_size=0,
        max_size=max_size,
        timeout=LAZY_TIMEOUT_S,
        reconnect_timeout=LAZY_TIMEOUT_S,
        configure=configure,
        name=LAZY_POOL,
    )


def _pool(url: str, pooler: bool, **given: Any) -> ConnectionPool[Connection[Any]]:
    """Open a pool whose connections are like `connect`'s, and tried out before they are lent."""
    from psycopg_pool import ConnectionPool

    return ConnectionPool(
        _conninfo(url),
        kwargs=_options(pooler),
        check=try_out,
        open=True,
        **given,
    )


def _is_news(record: logging.LogRecord) -> bool:
    """Tell whether a pool's message is one of a server that has to be there."""
    return LAZY_POOL not in record.getMessage()


def check_standby(conn: Connection[Any]) -> None:
    """Raise DatabaseError unless a server is a standby that follows its primary."""
    if conn.execute("SELECT pg_is_in_recovery()").fetchone() != (True,):
        raise DatabaseError(
            f"{_place(conn.info.dsn)} is no standby: name one that streams from the primary in"
            " RAGKIT_DATABASE_REPLICA_URL, or leave it unset."
        )


def describe(conn: Connection[Any]) -> ServerFacts:
    """Ask a server what it is."""
    row = conn.execute(_DESCRIBE).fetchone()
    assert row is not None
    return ServerFacts(*row)


def check_fit(conn: Connection[Any]) -> None:
    """Raise DatabaseError, one line with the remedy, unless ragkit can work on this server."""
    import psycopg

    try:
        problem = fitness(describe(conn))
    except psycopg.Error as error:
        raise DatabaseError(f"{_place(conn.info.dsn)} does not say what it is: {error}") from error
    if problem is not None:
        raise DatabaseError(f"{_place(conn.info.dsn)} cannot be used: {problem}.")


def fitness(facts: ServerFacts) -> str | None:
    """Say what is wrong with a server and the remedy; None when it is fit.

    >>> fitness(ServerFacts("18.4", 180004, "UTF8", False, "0.8.5", "0.8.5", 0)) is None
    True
    """
    needed = ".".join(map(str, OLDEST_PGVECTOR))
    if facts.version_number < OLDEST_POSTGRES:
        return f"it is PostgreSQL {facts.postgres}: use 15 or newer"
    if facts.encoding != "UTF8":
        return (
            f"its encoding is {facts.encoding}: make one with"
            " `createdb --template=template0 --encoding=UTF8`"
        )
    if facts.standby:
        return "it is a standby, which cannot be written to: name the primary server"
    if facts.pgvector is None and facts.pgvector_available is None:
        return (
            f"it has no pgvector: install pgvector {needed} or newer on that server, for example"
            f" Debian's package postgresql-{facts.version_number // 10000}-pgvector"
        )
    here = facts.pgvector or facts.pgvector_available or ""
    if _numbers(here) >= OLDEST_PGVECTOR:
        return None
    newer = facts.pgvector_available or ""
    upgrade = f"upgrade the pgvector package to {needed} or newer"
    if facts.pgvector is None:
        remedy = upgrade
    elif _numbers(newer) >= OLDEST_PGVECTOR:
        remedy = "run ALTER EXTENSION vector UPDATE there"
    else:
        remedy = f"{upgrade}, then run ALTER EXTENSION vector UPDATE there"
    return (
        f"its pgvector {here} is older than {needed}, and can corrupt HNSW indexes on vacuum:"
        f" {remedy}"
    )


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(number) for number in re.findall(r"\d+", version)[:3])


def _kind(pooler: bool) -> type[Connection[Any]]:
    import psycopg

    from ragkit.store.connection.identity import PooledConnection

    return PooledConnection if pooler else psycopg.Connection


def _options(pooler: bool) -> dict[str, Any]:
    return {"autocommit": True, "prepare_threshold": None if pooler else ON_REQUEST}


def _configure(conn: Connection[Any]) -> None:
    from ragkit.store.connection.identity import IDLE, keeps_sessions, mark_cluster
    from ragkit.store.vectors.layout import EF_SEARCH

    if keeps_sessions(conn):  # else each transaction sets what it needs
        conn.execute(f"SET {IDLE}; {_WALKING.format(EF_SEARCH)}; {_NOTICE_END}".encode())
        if gives_way() and conn.info.host.startswith("/"):  # a socket's file: on this machine
            lower(conn.info.backend_pid, "postgres")
    mark_cluster(conn)


def _conninfo(url: str) -> str:
    import psycopg
    from psycopg.conninfo import conninfo_to_dict, make_conninfo

    try:
        given = conninfo_to_dict(url)
        return make_conninfo("", **{**_DEFAULTS, **given})
    except psycopg.Error:
        raise DatabaseError(
            "The database's address cannot be read: write RAGKIT_DATABASE_URL as"
            " postgresql://user:password@host:5432/database, with %40 for an @ in the password."
        ) from None  # libpq's own message may quote the password


def _unreachable(conninfo: str, error: Exception) -> DatabaseError:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    reason = lines[0] if lines else type(error).__name__
    reason = re.sub(r"^connection (failed|is bad): ", "", reason)
    reason = re.sub(r"^connection to server (at|on) .*? failed: (FATAL: +)?", "", reason)
    remedy = next(
        (known for sign, known in _REMEDIES.items() if re.search(sign, reason)),
        "see that the server runs and RAGKIT_DATABASE_URL is right",
    )
    return DatabaseError(f"{_place(conninfo)} cannot be reached: {reason.rstrip('.')}: {remedy}.")


def _place(conninfo: str) -> str:
    """Name a database without its user's secrets: those parts are not read at all."""
    from psycopg.conninfo import conninfo_to_dict

    parts = conninfo_to_dict(conninfo)
    host = parts.get("host") or parts.get("hostaddr") or parts.get("service") or "localhost"
    port = f":{parts['port']}" if parts.get("port") else ""
    name = parts.get("dbname") or parts.get("user") or ""
    return f"The database {name!r} at {host}{port}"
